/** Reasons why something is not as it should be, the gravest first. */
export const gravity = [
  "InvalidContainers",
  "NameConflict",
  "InvalidReferences",
  "SourceTypeRejected",
  "SourceIsACopy",
  "SourceVetoed",
  "SourceMissing",
  "Collision",
  "CopyRefused",
] as const;
export type Reason = (typeof gravity)[number];

export interface Problem {
  readonly reason: Reason;
  readonly message: string;
}

export function byGravity(problems: readonly Problem[]): readonly Problem[] {
  return problems.toSorted((a, b) => gravity.indexOf(a.reason) - gravity.indexOf(b.reason));
}

/** `1 Pod`, `2 Pods`. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;
