import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { execCredentials, tokenFileCredentials } from "./credentials.ts";

const apiVersion = "client.authentication.k8s.io/v1";

async function fileIn(t: TestContext, text: string): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "latchkey-credentials-"));
  t.after(() => rm(dir, { recursive: true }));
  const path = join(dir, "file");
  await writeFile(path, text);
  return path;
}

/** A plugin that runs this JavaScript. */
function plugin(code: string, env: Readonly<Record<string, string>> = {}) {
  return { apiVersion, command: process.execPath, args: ["-e", code], env };
}

const prints = (status: object, version = apiVersion) =>
  plugin(`console.log(${JSON.stringify(JSON.stringify({ apiVersion: version, kind: "ExecCredential", status }))})`);

test("a token file is read again after a minute, or after a 401", async (t) => {
  const path = await fileIn(t, "one\n");
  let nowMs = 0;
  const credentials = tokenFileCredentials(path, () => nowMs);
  assert.equal(await credentials.authorization(), "Bearer one");
  await writeFile(path, "two");
  assert.equal(await credentials.authorization(), "Bearer one");
  nowMs = 60_000;
  assert.equal(await credentials.authorization(), "Bearer two");
  await writeFile(path, "three");
  assert.equal(credentials.renew?.(), true);
  assert.equal(await credentials.authorization(), "Bearer three");
});

test("a plugin's token is kept until shortly before it ends", async (t) => {
  const path = await fileIn(t, "");
  const status = { token: "hunter2", expirationTimestamp: "2030-01-01T00:00:00Z" };
  const code = `
    require("node:fs").appendFileSync(process.env.COUNT_FILE, "x");
    console.log(JSON.stringify({ ...JSON.parse(process.env.KUBERNETES_EXEC_INFO), status: ${JSON.stringify(status)} }));`;
  let nowMs = Date.parse("2029-12-31T23:00:00Z");
  const credentials = execCredentials(plugin(code, { COUNT_FILE: path }), () => nowMs);
  assert.deepEqual(await Promise.all([credentials.authorization(), credentials.authorization()]), [
    "Bearer hunter2",
    "Bearer hunter2",
  ]);
  assert.equal(await readFile(path, "utf8"), "x", "those who ask together share one run");
  nowMs = Date.parse("2029-12-31T23:59:55Z");
  await credentials.authorization();
  assert.equal(await readFile(path, "utf8"), "xx");
});

test("a plugin may give a certificate in place of a token", async () => {
  const credentials = execCredentials(prints({ clientCertificateData: "c", clientKeyData: "k" }));
  assert.equal(await credentials.authorization(), undefined);
  assert.deepEqual(await credentials.clientCertificate?.(), { cert: "c", key: "k" });
});

const failing = [
  { name: "prints no JSON", given: plugin("console.log('hunter2')"), says: /printed no ExecCredential/ },
  { name: "exits with an error", given: plugin("console.error('hunter2'); process.exit(3)"), says: /failed \(3\)/ },
  { name: "is missing", given: { ...plugin(""), command: "/nowhere/plugin" }, says: /plugin failed \(ENOENT\)/ },
  { name: "gives nothing", given: prints({}), says: /neither token nor certificate/ },
  {
    name: "answers in another version",
    given: prints({ token: "hunter2" }, "client.authentication.k8s.io/v1beta1"),
    says: /printed no ExecCredential of/,
  },
];
for (const { name, given, says } of failing) {
  test(`a plugin that ${name} is named, and what it printed is not`, async () => {
    await assert.rejects(execCredentials(given).authorization(), (error: Error) => {
      assert.match(error.message, says);
      assert.doesNotMatch(error.message + String(error.cause), /hunter2/);
      return true;
    });
  });
}

test("an unknown version of the plugin protocol is refused at once", () => {
  assert.throws(() => execCredentials({ ...plugin(""), apiVersion: "v1alpha1" }), /apiVersion must be one of/);
});
