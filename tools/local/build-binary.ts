import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { describeEnding, lastLines, startChild } from "./child.ts";
import type { Recipe } from "./go-modules.ts";
import type { Progress } from "./progress.ts";
import { isPinned } from "./verify.ts";

export interface BuildOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onProgress: Progress;
  readonly signal: AbortSignal | undefined;
  /** For the progress line: `2 of 5`. */
  readonly place: string;
}

/** Builds to a temporary name and renames what has proven to run: an interrupted build leaves nothing that looks finished. */
export async function buildBinary(recipe: Recipe, path: string, options: BuildOptions): Promise<string> {
  await requireGo(recipe, options);
  const dir = dirname(path);
  mkdirSync(dir, { recursive: true });
  removeRemains(dir, recipe);
  const temporary = join(dir, `.${recipe.name}.${process.pid}.tmp`);
  const logFile = join(dir, `${recipe.name}.build.log`);
  rmSync(logFile, { force: true });

  await compile(recipe, temporary, logFile, options);
  if (!(await isPinned(temporary, recipe))) {
    rmSync(temporary, { force: true });
    throw new Error(`${recipe.name} was built but does not call itself ${recipe.version}`);
  }
  renameSync(temporary, path);
  rmSync(logFile, { force: true });
  return path;
}

async function compile(recipe: Recipe, output: string, logFile: string, options: BuildOptions): Promise<void> {
  const { env, onProgress, signal, place } = options;
  signal?.throwIfAborted();
  const args = ["build", "-trimpath", "-buildvcs=false", "-ldflags", recipe.ldflags, "-o", output, recipe.package];
  await using go = await startChild({ command: "go", args, cwd: recipe.moduleDir, env: goEnv(env), logFile });
  const abort = () => void go.kill();
  signal?.addEventListener("abort", abort, { once: true });

  const startedAt = performance.now();
  const report = () => {
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    onProgress(`building ${recipe.name} ${recipe.version}, ${place} (${seconds} s of about ${recipe.aboutSeconds} s)`);
  };
  report();
  const ticking = setInterval(report, 1000);
  const ending = await go.ended;
  clearInterval(ticking);
  signal?.removeEventListener("abort", abort);

  signal?.throwIfAborted();
  if ("code" in ending && ending.code === 0) return;
  throw new Error(`go build ${recipe.package}: ${describeEnding(ending)}\n${lastLines(logFile)}`);
}

/** A workspace or a vendor setting of the user's is not meant for our modules. */
function goEnv(env: BuildOptions["env"]): Record<string, string | undefined> {
  return { ...env, GOWORK: "off", GOFLAGS: "" };
}

/** In the module's folder, so that Go compares itself with what go.mod asks for. */
async function requireGo(recipe: Recipe, { env }: BuildOptions): Promise<void> {
  try {
    await promisify(execFile)("go", ["version"], { cwd: recipe.moduleDir, env: goEnv(env) as NodeJS.ProcessEnv });
  } catch (cause) {
    const isMissing = (cause as { code?: unknown }).code === "ENOENT";
    throw new Error(waysOut(recipe.name, isMissing ? "there is no Go here" : "the Go found here is too old"), {
      cause,
    });
  }
}

function waysOut(name: string, problem: string): string {
  return [
    `${name} has to be built, and ${problem}. Three ways out:`,
    "  1. install the Go that tools/control-plane/go.mod asks for (https://go.dev/dl/)",
    "  2. set KUBEBUILDER_ASSETS to a folder with the binaries (etcd, kube-apiserver, kube-controller-manager, kubectl, …)",
    "  3. use a cluster you have, with --kubeconfig",
  ].join("\n");
}

/** Only the holder of the lock builds, so temporary files are those of a builder that is gone. */
function removeRemains(dir: string, recipe: Recipe): void {
  for (const file of readdirSync(dir)) {
    if (basename(file).startsWith(`.${recipe.name}.`)) rmSync(join(dir, file), { force: true });
  }
}
