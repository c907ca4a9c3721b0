import { fieldManager } from "../api/marks.ts";
import type { ManagedFields } from "../api/objects.ts";

/** Who answers for which keys of a Secret's data, as the API server has kept track of it. */
export interface ManagedKeys {
  /** Keys whose present value we wrote, sorted. */
  readonly ownKeys: readonly string[];
  /** Somebody else has added a key. */
  readonly hasOtherKeys: boolean;
}

/**
 * A copy is followed without its data. That it was edited shows here all the same: whoever changes a value takes the
 * key from us, whoever removes one removes it from our list, whoever adds one owns a key that we do not.
 */
export function managedKeysOf(managedFields: readonly ManagedFields[] = []): ManagedKeys {
  const own = new Set<string>();
  const all = new Set<string>();
  for (const { manager, fieldsV1 } of managedFields) {
    for (const key of keysIn(fieldsV1?.["f:data"])) {
      all.add(key);
      if (manager === fieldManager) own.add(key);
    }
  }
  return { ownKeys: [...own].sort(), hasOtherKeys: all.size > own.size };
}

/** Managers that own a label. */
export function labelManagersOf(managedFields: readonly ManagedFields[] = [], label: string): readonly string[] {
  return managedFields.flatMap(({ manager, fieldsV1 }) => {
    const metadata = fieldsV1?.["f:metadata"] as Record<string, Record<string, unknown>> | undefined;
    return manager && metadata?.["f:labels"]?.[`f:${label}`] ? [manager] : [];
  });
}

function keysIn(fields: unknown): readonly string[] {
  if (typeof fields !== "object" || fields === null) return [];
  return Object.keys(fields).flatMap((field) => (field.startsWith("f:") ? [field.slice(2)] : []));
}
