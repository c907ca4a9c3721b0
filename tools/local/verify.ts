import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { promisify } from "node:util";
import type { Recipe } from "./go-modules.ts";

/** What a binary says when asked for its version; rejects when it does not run. */
export async function versionSaidBy(path: string, recipe: Recipe): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(path, [...recipe.versionArgs], { timeout: 60_000 });
  return stdout + stderr;
}

/** It runs, and is the version we pinned. */
export async function isPinned(path: string, recipe: Recipe): Promise<boolean> {
  const said = await versionSaidBy(path, recipe).catch(() => "");
  return said.includes(recipe.version);
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
