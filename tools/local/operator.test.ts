import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { startOperator } from "./operator.ts";

/** Says what Latchkey says when it is ready, and which environment it was given. */
const plays = `
  console.log("(node:1) Warning: not JSON");
  console.log(JSON.stringify({ level: "info", message: "env", names: Object.keys(process.env) }));
  console.log(JSON.stringify({ level: "info", message: "ready", metrics: "127.0.0.1:1234", admission: "https://127.0.0.1:5678" }));
  process.on("SIGTERM", () => process.exit(0));
  setInterval(() => {}, 60_000);
`;

test("an operator is started when it says so, and ends in its own way", async (t) => {
  const { bundle, logFile } = scene(t, plays);
  const env = { ...process.env, KUBECONFIG: "/mine", LATCHKEY_TEST_KUBECONFIG: "/shared" };
  const first = await startOperator({ kubeconfig: "/dev/null", logFile, bundle, env });
  assert.equal(first.metricsUrl, "http://127.0.0.1:1234");
  assert.equal(first.admissionUrl, "https://127.0.0.1:5678");
  const given = first.logs().find((line) => line.message === "env")?.names as string[];
  assert.equal(given.includes("KUBECONFIG"), false, "the user's cluster is not its business");
  assert.equal(given.includes("LATCHKEY_TEST_KUBECONFIG"), false);
  await first.stop();
  assert.deepEqual(first.ending, { code: 0 });

  await using second = await startOperator({ kubeconfig: "/dev/null", logFile, bundle });
  assert.equal(second.logs().filter((line) => line.message === "ready").length, 1, "only its own lines");
});

test("an operator that ends before it is ready is an error with the end of its log", async (t) => {
  const { bundle, logFile } = scene(t, `console.log("no such flag"); process.exit(2);`);
  await assert.rejects(startOperator({ kubeconfig: "/dev/null", logFile, bundle }), /exit code 2.*no such flag/s);
});

function scene(t: TestContext, program: string): { readonly bundle: string; readonly logFile: string } {
  const dir = mkdtempSync(join(tmpdir(), "latchkey-operator-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const bundle = join(dir, "program.mjs");
  writeFileSync(bundle, program);
  return { bundle, logFile: join(dir, "log") };
}
