import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { secrets } from "../../src/api/objects.ts";
import { kubectl, testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { at, type SecretSync, secretSync, secretSyncs } from "../../src/testing/objects.ts";
import { createSecret, setValues } from "../../src/testing/secrets.ts";
import { createdSync, whenAdmissionListens } from "../../src/testing/syncs.ts";
import { untilGone, untilSecret, untilSynced } from "../../src/testing/wait.ts";

/** The examples of Package Operator's proposal E-0001, as they stand there. */
const example = (strategy: string) => `apiVersion: package-operator.run/v1alpha1
kind: SecretSync
metadata:
  name: bootstrap-token
spec:
  paused: false
  strategy:
${strategy}
  src:
    namespace: kube-system
    name: bootstrap-token-abcdef
  dest:
  - namespace: default
    name: synced-bootstrap-token
`;
const examples = [
  { named: "watch", manifest: example("    watch: {}") },
  { named: "poll", manifest: example("    poll:\n      interval: 15m") },
];

for (const { named, manifest } of examples) {
  test(`the proposal's example that uses ${named} is accepted as written and works`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 2);
    const [system, other] = namespaces;
    const name = uniqueName("bootstrap-token");
    t.after(() => kube.delete(secretSyncs, { name }));
    // The name alone is ours, all tests share one cluster; dry, as its namespaces are everybody's.
    const renamed = manifest.replace("name: bootstrap-token\n", `name: ${name}\n`);
    assert.equal(
      (await apply(renamed, "--dry-run=server")).stdout.trim(),
      `secretsync.package-operator.run/${name} created (server dry run)`,
    );

    await createSecret(
      kube,
      `${system}/bootstrap-token-abcdef`,
      { "token-id": "abcdef" },
      { type: "bootstrap.kubernetes.io/token" },
    );
    const moved = renamed
      .replace("namespace: kube-system", `namespace: ${system}`)
      .replace("namespace: default", `namespace: ${other}`);
    assert.match((await apply(moved)).stdout, /created/);
    await untilSecret(
      kube,
      `${other}/synced-bootstrap-token`,
      { "token-id": "abcdef" },
      { type: "bootstrap.kubernetes.io/token" },
    );
    await untilSynced(kube, (await kube.get<SecretSync>(secretSyncs, { name })) as SecretSync);
    assert.match((await apply(moved)).stdout, /unchanged/);
    const waited = await kubectl(["wait", "--for=condition=Sync", `secretsync/${name}`, "--timeout=60s"]);
    assert.equal(waited.code, 0, waited.stderr);
  });
}

function apply(manifest: string, ...flags: readonly string[]) {
  return whenAdmissionListens(async () => {
    const ran = await kubectl(["apply", "-f", "-", ...flags], { input: manifest });
    if (ran.code !== 0) throw new Error(ran.stderr);
    return ran;
  });
}

test("two appliers each own a destination; what one gives up goes, what the other has stays", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createSecret(kube, `${vault}/db`, { a: "1" });
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${team}/created`] });
  const { name } = sync.metadata;
  const applyDest = (fieldManager: string, dest: readonly string[]) => {
    const { metadata } = secretSync(name, `${vault}/db`, { to: [] });
    const body = { metadata, spec: { dest: dest.map(at) } } as unknown as SecretSync;
    return whenAdmissionListens(() => kube.apply<SecretSync>(secretSyncs, body, { fieldManager }));
  };
  await applyDest("anna", [`${team}/anna`]);
  const both = await applyDest("bert", [`${team}/bert`]);
  assert.deepEqual(both.spec.dest.map((dest) => dest.name).sort(), ["anna", "bert", "created"]);
  for (const copy of ["anna", "bert", "created"]) await untilSecret(kube, `${team}/${copy}`, { a: "1" });

  await applyDest("anna", [`${team}/anna-2`]);
  await untilSecret(kube, `${team}/anna-2`, { a: "1" });
  await untilGone(kube, secrets, at(`${team}/anna`));
  await setValues(kube, `${vault}/db`, { a: "2" });
  for (const copy of ["anna-2", "bert", "created"]) await untilSecret(kube, `${team}/${copy}`, { a: "2" });
});

const explained = [
  ["secretsync", /FIELDS:[\s\S]*spec[\s\S]*status/],
  ["secretsync.spec", /dest.*-required-[\s\S]*paused[\s\S]*src.*-required-[\s\S]*strategy/],
  ["secretsync.spec.strategy", /poll[\s\S]*watch/],
  ["secretsync.spec.strategy.poll.interval", /10s[\s\S]*24h/],
  ["secretsync.spec.src.namespace", /DESCRIPTION:\n\s+\S/],
  ["secretsync.spec.dest.name", /DESCRIPTION:\n\s+\S/],
  ["secretsync.status.targets.state", /DESCRIPTION:\n\s+\S/],
] as const;

test("kubectl explain tells what every field means", async () => {
  for (const [path, words] of explained) assert.match(await explain(path), words);
  const all = await explain("secretsync.spec", "--recursive");
  for (const field of ["interval", "namespace", "name", "paused"]) assert.match(all, new RegExp(`\\b${field}\\b`));
  assert.doesNotMatch(await explain("secretsync.spec"), /<no description>/);
});

/** The API server publishes the schema of a new CRD some seconds after it serves it. */
async function explain(...args: readonly string[]): Promise<string> {
  for (const deadline = performance.now() + 60_000; ; await sleep(500)) {
    const { code, stdout, stderr } = await kubectl(["explain", ...args]);
    if (code === 0) return stdout;
    if (performance.now() > deadline) throw new Error(stderr);
  }
}
