import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const root = join(import.meta.dirname, "..");
const bin = (name: string) => join(root, "node_modules", ".bin", name);

const checks: Readonly<Record<string, readonly [string, ...string[]]>> = {
  types: [bin("tsc"), "--noEmit", "--project", root],
  "style and lint": [bin("biome"), "check", "--error-on-warnings", root],
  promises: [bin("oxlint"), "--type-aware", "--deny-warnings", ...["src", "tools", "test", "bench"].filter(isFolder)],
  layers: [process.execPath, join(root, "tools", "layers.ts")],
  crds: [process.execPath, join(root, "tools", "crds.ts"), "--check"],
};

function isFolder(name: string): boolean {
  return existsSync(join(root, name));
}

/** Runs every check and prints what the failing ones say; true when all pass. */
export async function runChecks(): Promise<boolean> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, [command, ...args]]) => {
      const startedAt = performance.now();
      const problem = await run(command, args);
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      process.stdout.write(problem === undefined ? `✔ ${name} (${seconds} s)\n` : `✖ ${name}\n${problem}\n`);
      return problem === undefined;
    }),
  );
  return results.every((passed) => passed);
}

async function run(command: string, args: readonly string[]): Promise<string | undefined> {
  try {
    await promisify(execFile)(command, [...args], { cwd: root, maxBuffer: 64 * 1024 * 1024 });
    return undefined;
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    return `${stdout}${stderr}`.trimEnd() || String(error);
  }
}

if (import.meta.main) process.exitCode = (await runChecks()) ? 0 : 1;
