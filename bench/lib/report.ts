import { mkdir, writeFile } from "node:fs/promises";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";

/** What a benchmark measured. Targets say what was promised, and whether this run kept it. */
export interface Report {
  readonly name: string;
  readonly what: string;
  readonly rows: readonly Row[];
  readonly targets: readonly Target[];
}

export type Row = Readonly<Record<string, string | number>>;

export interface Target {
  readonly promise: string;
  readonly measured: number;
  readonly atMost: number;
}

const results = join(import.meta.dirname, "..", "results");

export async function publish(report: Report): Promise<void> {
  await mkdir(results, { recursive: true });
  const machine = { cores: cpus().length, memoryGiB: Math.round(totalmem() / 2 ** 30), node: process.version };
  await writeFile(join(results, `${report.name}.json`), `${JSON.stringify({ ...report, machine }, undefined, 2)}\n`);
  process.stdout.write(`\n${report.what}\n\n${table(report.rows)}\n`);
  for (const { promise, measured, atMost } of report.targets) {
    const kept = measured <= atMost ? "kept" : "MISSED";
    const shown = Number.isInteger(measured) ? measured : round(measured);
    process.stdout.write(`${kept}: ${promise}: ${shown} (at most ${atMost})\n`);
  }
}

/** Says on standard error how far a long benchmark is. */
export const tellProgress = (line: string): void => void process.stderr.write(`${line}\n`);

export const round = (value: number): number => Number(value.toPrecision(3));

function table(rows: readonly Row[]): string {
  const columns = Object.keys(rows[0] ?? {});
  const lines = [columns, columns.map(() => "---"), ...rows.map((row) => columns.map((column) => String(row[column])))];
  return lines
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n")
    .concat("\n");
}
