import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import packageJson from "../package.json" with { type: "json" };
import { buildProgram } from "./build.ts";

test("the built program runs without its sources and its packages", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "latchkey-build-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const program = await buildProgram(join(dir, "dist"));
  const { stdout } = await promisify(execFile)(process.execPath, [program, "version"], { cwd: dir });
  assert.ok(stdout.includes(packageJson.version));
  const { stdout: crds } = await promisify(execFile)(process.execPath, [program, "crds"], { cwd: dir });
  assert.match(crds, /kind: CustomResourceDefinition/);
});
