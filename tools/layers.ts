import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** What each layer may import besides itself; `config` is what reads flags and environment and connects by them, `main` builds everything. */
const mayImport = {
  api: [],
  kube: ["api"],
  ownership: ["api", "kube"],
  replication: ["api", "kube", "ownership"],
  runtime: ["api", "kube"],
  config: ["api", "kube", "runtime"],
  pullsecrets: ["api", "kube", "ownership", "replication", "runtime", "config"],
  features: ["api", "kube", "ownership", "replication", "runtime", "config", "pullsecrets"],
  surfaces: ["api", "kube", "ownership", "replication", "runtime", "config", "pullsecrets", "features"],
  main: ["api", "kube", "ownership", "replication", "runtime", "config", "pullsecrets", "features", "surfaces"],
} as const satisfies Record<string, readonly string[]>;
type Layer = keyof typeof mayImport;

/** Directly in src; whatever else is there belongs to `main`, which nobody may import. */
const configFiles: readonly string[] = ["options.ts", "settings.ts", "config.ts", "connect.ts", "version.ts"];

/** Sub-folders of these are independent of each other; files directly inside are shared by them. */
const partitioned: readonly Layer[] = ["features", "surfaces"];

export interface SourceFile {
  /** From the root of the repository: `src/kube/client.ts`. */
  readonly path: string;
  readonly text: string;
}

/** One line for every import that crosses the layers the wrong way. */
export function violationsOf(files: readonly SourceFile[]): string[] {
  return files.filter(({ path }) => !isTest(path)).flatMap((file) => importsOf(file).flatMap(checkImport(file.path)));
}

function checkImport(from: string): (to: string) => string[] {
  return (to) => {
    const problem = problemOf(from, to);
    return problem ? [`${from} imports ${to}: ${problem}`] : [];
  };
}

function problemOf(from: string, to: string): string | undefined {
  if (to === "package.json") return undefined;
  if (!to.startsWith("src/")) return "the program imports nothing from outside src";
  if (isTest(to)) return "only tests know the tests";
  const [layer, part] = placeOf(from);
  const [otherLayer, otherPart] = placeOf(to);
  if (!layer) return `tools/layers.ts does not know the layer of ${from}`;
  if (!otherLayer) return `tools/layers.ts does not know the layer of ${to}`;
  if (layer !== otherLayer) {
    const allowed: readonly string[] = mayImport[layer];
    return allowed.includes(otherLayer) ? undefined : `${layer} may not know ${otherLayer}`;
  }
  if (!partitioned.includes(layer) || otherPart === undefined || part === otherPart) return undefined;
  return part === undefined ? `what ${layer} share may know none of them` : `${layer} may not know each other`;
}

/** `src/features/secretsync/x.ts` is in `features`, part `secretsync`. */
function placeOf(path: string): [layer: Layer | undefined, part: string | undefined] {
  const [, folder = "", ...rest] = path.split("/");
  if (rest.length === 0) return [configFiles.includes(folder) ? "config" : "main", undefined];
  return [folder in mayImport ? (folder as Layer) : undefined, rest.length > 1 ? rest[0] : undefined];
}

function isTest(path: string): boolean {
  return path.endsWith(".test.ts") || path.startsWith("src/testing/");
}

function importsOf({ path, text }: SourceFile): string[] {
  const specifiers = text.matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g);
  return Array.from(specifiers, ([, specifier = ""]) => normalize(join(dirname(path), specifier)));
}

if (import.meta.main) {
  const root = join(import.meta.dirname, "..");
  const paths = globSync("src/**/*.ts", { cwd: root }).sort();
  const violations = violationsOf(paths.map((path) => ({ path, text: readFileSync(join(root, path), "utf8") })));
  for (const violation of violations) process.stderr.write(`${violation}\n`);
  process.exitCode = violations.length > 0 ? 1 : 0;
}
