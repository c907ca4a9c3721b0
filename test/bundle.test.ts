import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import packageJson from "../package.json" with { type: "json" };
import { testEnvironment } from "../src/testing/cluster.ts";
import { buildProgram } from "../tools/build.ts";

const run = promisify(execFile);
/** Outside the repository: what the bundle lacks cannot be found in node_modules. */
const dir = mkdtempSync(join(tmpdir(), "latchkey-bundle-"));
let program: string;

before(async () => {
  program = await buildProgram(join(dir, "dist"));
});
after(() => rmSync(dir, { recursive: true, force: true }));

test("the bundle tells its version", async () => {
  const { stdout } = await run(process.execPath, [program, "version"], { cwd: dir });
  assert.equal(stdout, `latchkey ${packageJson.version} (node ${process.versions.node})\n`);
});

test("the bundle prints the same CRDs as the sources", async () => {
  const { stdout: bundled } = await run(process.execPath, [program, "crds"], { cwd: dir });
  const main = join(import.meta.dirname, "..", "src", "main.ts");
  const { stdout: original } = await run(process.execPath, [main, "crds"]);
  assert.match(bundled, /kind: CustomResourceDefinition/);
  assert.equal(bundled, original);
});

test("the bundle talks to an API server", async () => {
  const kubeconfig = `--kubeconfig=${testEnvironment("LATCHKEY_TEST_KUBECONFIG")}`;
  const { stdout } = await run(process.execPath, [program, "status", "-o", "json", kubeconfig], { cwd: dir });
  assert.equal((JSON.parse(stdout) as { operator: { namespace: string } }).operator.namespace, "latchkey-system");
});
