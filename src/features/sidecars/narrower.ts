import { isSatisfiable, namespaceRequirementsOf, negationOf, requirementsOf, type Scope } from "./selector.ts";

/** Whether every Pod that `after` is for is one that `before` was for. In doubt it is not. */
export function isNarrower(after: Scope, before: Scope): boolean {
  return (
    implies(requirementsOf(after.selector), requirementsOf(before.selector)) &&
    implies(namespaceRequirementsOf(after), namespaceRequirementsOf(before))
  );
}

type Requirements = ReturnType<typeof requirementsOf>;

function implies(after: Requirements, before: Requirements): boolean {
  if (!after || !before) return false;
  return before.every((one) => !isSatisfiable([...after, negationOf(one)]));
}
