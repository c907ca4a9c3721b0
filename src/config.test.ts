import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import {
  admissionUrl,
  configOf,
  connectionOptions,
  metricsAddress,
  modeOption,
  namespace,
  operatorOptions,
} from "./config.ts";
import { parseSettings } from "./settings.ts";

const feature = { name: "secretsync", about: "" };
const options = [...connectionOptions, ...operatorOptions, modeOption(feature)];
const outside = { env: {}, isTerminal: false, serviceAccountDir: "/nonexistent" };

const configFor = async (flags: Record<string, string | true>, around = outside) =>
  configOf(await parseSettings(options, { flags, env: {} }), around);

test("the defaults are those of the reference", async () => {
  const config = await configFor({});
  assert.equal(config.namespace, "latchkey-system");
  assert.equal(config.metricsAddress, ":8080");
  assert.equal(config.admissionAddress, ":9443");
  assert.equal(config.admissionUrl, undefined);
  assert.equal(config.installCrds, false);
  assert.equal(config.leaderElect, true);
  assert.equal(config.referenceCheck, true);
  assert.equal(config.logLevel, "info");
  assert.equal(config.logFormat, "json");
  assert.equal(config.isInCluster, false);
  assert.equal(config.settings.get(modeOption(feature)), "auto");
});

test("on a terminal the log is text", async () => {
  assert.equal((await configFor({}, { ...outside, isTerminal: true })).logFormat, "text");
});

test("in a Pod the namespace is its own, unless another API server is meant", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "latchkey-config-"));
  t.after(() => rmSync(dir, { recursive: true }));
  writeFileSync(join(dir, "ca.crt"), "pem");
  writeFileSync(join(dir, "namespace"), "operators\n");
  const pod = { env: { KUBERNETES_SERVICE_HOST: "10.0.0.1" }, isTerminal: false, serviceAccountDir: dir };

  assert.deepEqual(pick(await configFor({}, pod)), ["operators", true]);
  assert.deepEqual(pick(await configFor({ kubeconfig: "/x" }, pod)), ["latchkey-system", false]);
  assert.deepEqual(pick(await configFor({ context: "other" }, pod)), ["latchkey-system", false]);
  assert.deepEqual(pick(await configFor({ namespace: "here" }, pod)), ["here", true]);
});
const pick = (config: { namespace: string; isInCluster: boolean }) => [config.namespace, config.isInCluster];

for (const good of [":0", "127.0.0.1:8080", "[::1]:9443", "localhost:1"]) {
  test(`an address may be ${good}`, () => assert.equal(metricsAddress.parse(good), good));
}
for (const bad of ["", "8080", ":65536", "::1:80", "host:", ":http"]) {
  test(`an address may not be ${JSON.stringify(bad)}`, () => assert.throws(() => metricsAddress.parse(bad)));
}

test("a slash at the end of the admission URL is dropped", () => {
  assert.equal(admissionUrl.parse("https://hooks.example:8443/latchkey/"), "https://hooks.example:8443/latchkey");
});
for (const bad of ["http://a", "hooks.example", "https://a/?x=1", "https://a/#b", "https://me:pw@a"]) {
  test(`the admission URL may not be ${bad}`, () => assert.throws(() => admissionUrl.parse(bad), /https URL/u));
}

for (const bad of ["", "Upper", "a.b", "-a", "a".repeat(64)]) {
  test(`a namespace may not be ${JSON.stringify(bad)}`, () => assert.throws(() => namespace.parse(bad), /namespace/u));
}
