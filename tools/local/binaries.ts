import { mkdirSync, symlinkSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { buildBinary } from "./build-binary.ts";
import { type BinaryName, type Recipe, recipeOf } from "./go-modules.ts";
import { lockFile } from "./lock.ts";
import { type Progress, silent } from "./progress.ts";
import { isExecutable, isPinned, versionSaidBy } from "./verify.ts";

export type Binaries<N extends BinaryName = BinaryName> = Readonly<Record<N, string>>;
type Env = Readonly<Record<string, string | undefined>>;

export interface FindOptions {
  readonly env?: Env;
  readonly onProgress?: Progress | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Paths of the binaries: from `KUBEBUILDER_ASSETS`, from our cache, else built once into the cache. Each has run before it is returned. */
export async function ensureBinaries<N extends BinaryName>(
  names: readonly N[],
  { env = process.env, onProgress = silent, signal }: FindOptions = {},
): Promise<Binaries<N>> {
  const cache = cacheDirOf(env);
  const recipes = names.map(recipeOf);
  const found = new Map<BinaryName, string>();
  await Promise.all(
    recipes.map(async (recipe) => {
      const path = (await inAssets(recipe, env.KUBEBUILDER_ASSETS)) ?? (await inCache(recipe, cache));
      if (path) found.set(recipe.name, path);
    }),
  );

  const missing = recipes.filter((recipe) => !found.has(recipe.name));
  if (missing.length > 0) {
    mkdirSync(cache, { recursive: true });
    const onWait = () => onProgress("waiting for another build of the control plane to end");
    using _ = await lockFile(join(cache, "build.lock"), { signal, onWait });
    for (const [index, recipe] of missing.entries()) {
      const place = missing.length > 1 ? `${index + 1} of ${missing.length}` : "the only one missing";
      const path =
        (await inCache(recipe, cache)) ?? // whoever had the lock before us may have built it
        (await buildBinary(recipe, cachedPathOf(recipe, cache), { env, onProgress, signal, place }));
      found.set(recipe.name, path);
    }
  }
  return Object.fromEntries(found) as Binaries<N>;
}

/** One folder with all of them, as `KUBEBUILDER_ASSETS` wants it. */
export function linkBinaries(binaries: Partial<Binaries>, dir: string): string {
  mkdirSync(dir, { recursive: true });
  for (const [name, path] of Object.entries(binaries)) symlinkSync(path, join(dir, name));
  return dir;
}

export function cacheDirOf(env: Env): string {
  return join(env.XDG_CACHE_HOME || join(homedir(), ".cache"), "latchkey", "bin");
}

export function cachedPathOf(recipe: Recipe, cache: string): string {
  return join(cache, recipe.key, recipe.name);
}

/** The user's choice counts, whatever its version; one that does not run is an error and no reason to build another. */
async function inAssets(recipe: Recipe, assets: string | undefined): Promise<string | undefined> {
  if (!assets) return undefined;
  const path = join(assets, recipe.name);
  if (!isExecutable(path)) return undefined;
  await versionSaidBy(path, recipe).catch((cause: unknown) => {
    throw new Error(`${path} (from KUBEBUILDER_ASSETS) does not run`, { cause });
  });
  return path;
}

/** What does not run, or is not what it should be, counts as missing. */
async function inCache(recipe: Recipe, cache: string): Promise<string | undefined> {
  const path = cachedPathOf(recipe, cache);
  return isExecutable(path) && (await isPinned(path, recipe)) ? path : undefined;
}
