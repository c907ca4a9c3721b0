import { type Row, round, type Target } from "./report.ts";

/** One line of the result. */
export interface Compared {
  readonly what: string;
  readonly ours: number;
  readonly theirs: number;
}

export const rowOf = ({ what, ours, theirs }: Compared): Row => ({
  what,
  Latchkey: round(ours),
  "compared with": round(theirs),
  ratio: round(ours / theirs),
});

export const ratioOf = ({ what, ours, theirs }: Compared, atMost: number): Target => ({
  promise: `${what}: ratio`,
  measured: ours / theirs,
  atMost,
});
