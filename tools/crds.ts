import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { allCrds } from "../src/api/crds.ts";

const dir = join(import.meta.dirname, "..", "deploy", "crds");
const header = "# Made by `npm run crds` from src/api; changes here are lost.\n";

type Files = ReadonlyMap<string, string>;

/** What deploy/crds should hold: file name to text. */
export function crdFiles(): Files {
  const text = (crd: object) => header + stringify(crd, { lineWidth: 0, aliasDuplicateObjects: false });
  return new Map(allCrds.map((crd) => [`${crd.metadata.name}.yaml`, text(crd)]));
}

/** One line for every file that is not as it should be. */
export function driftOf(wanted: Files, actual: Files): string[] {
  const stale = [...actual.keys()].filter((name) => !wanted.has(name)).map((name) => `${name} is not ours any more`);
  const wrong = [...wanted]
    .filter(([name, text]) => actual.get(name) !== text)
    .map(([name]) => `${name} ${actual.has(name) ? "is out of date" : "is missing"}`);
  return [...stale, ...wrong].sort();
}

function filesIn(folder: string): Files {
  if (!existsSync(folder)) return new Map();
  return new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

function main(args: readonly string[]): number {
  const wanted = crdFiles();
  const actual = filesIn(dir);
  const drift = driftOf(wanted, actual);
  if (args.includes("--check")) {
    for (const line of drift) process.stderr.write(`deploy/crds/${line}: run \`npm run crds\`\n`);
    return drift.length > 0 ? 1 : 0;
  }
  mkdirSync(dir, { recursive: true });
  for (const name of actual.keys()) if (!wanted.has(name)) rmSync(join(dir, name));
  for (const [name, text] of wanted) writeFileSync(join(dir, name), text);
  for (const line of drift) process.stdout.write(`deploy/crds/${line}: fixed\n`);
  return 0;
}

if (import.meta.main) process.exitCode = main(process.argv.slice(2));
