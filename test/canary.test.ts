import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import { events, type KubeObject, secrets } from "../src/api/objects.ts";
import { allForms, assertNowhere, formsOf, newCanary } from "../src/testing/canaries.ts";
import { kubectl, testNamespaces, uniqueName } from "../src/testing/cluster.ts";
import { metricsOf } from "../src/testing/modes.ts";
import { at, encoded, type SecretSync, secretSyncs } from "../src/testing/objects.ts";
import { ownPlane } from "../src/testing/planes.ts";
import { refuseSecrets } from "../src/testing/refusals.ts";
import { createSecret, deleteSecret, patchSecret, setValues } from "../src/testing/secrets.ts";
import {
  changeSidecarSet,
  createInjectedPod,
  createSidecarSet,
  dockerConfig,
  dockerConfigType,
  labelsFor,
  literalName,
  pod,
  type SidecarSet,
  sidecarSets,
  storeSidecarSet,
  suffixedName,
  untilPullSecret,
  untilSetCondition,
} from "../src/testing/sidecars.ts";
import { changeSync, createdSync, createSync } from "../src/testing/syncs.ts";
import { TraceCollector } from "../src/testing/traces.ts";
import { createUser } from "../src/testing/users.ts";
import { untilCondition, untilGone, untilSecret, untilSynced } from "../src/testing/wait.ts";
import type { Operator } from "../tools/local/operator.ts";

let operator: Operator;
let traces: TraceCollector | undefined;
const own = ownPlane(async (plane) => {
  traces = await TraceCollector.start();
  operator = await plane.operator({ env: traces.env });
});
after(() => traces?.[Symbol.asyncDispose]());

/** Of a sidecar's environment: in SidecarSet and Pod by design, and nowhere else. */
const inEnv = `canary${randomBytes(12).toString("hex")}`;

const outputs = async () => ({ log: await readFile(operator.logFile, "utf8"), metrics: await metricsOf(operator) });

const assertHidden = async (shown: Readonly<Record<string, string>>) =>
  assertNowhere({ ...shown, ...(await outputs()) });

const eventsAsText = async () => JSON.stringify(await (await own.kube).list<KubeObject>(events));

async function secretMetadata(...namespaces: readonly string[]): Promise<string> {
  const kube = await own.kube;
  const all = await Promise.all(namespaces.map((namespace) => kube.listMetadata(secrets, { namespace })));
  return JSON.stringify(all.flat().map(({ metadata }) => metadata));
}

/** As kubectl leaves it: with the whole Secret in an annotation. */
async function applySecret(key: string, data: Readonly<Record<string, string>>, type = "Opaque"): Promise<void> {
  const manifest = { apiVersion: "v1", kind: "Secret", metadata: at(key), type, stringData: data };
  const { code, stderr } = await kubectl(["apply", "-f", "-"], { input: JSON.stringify(manifest) });
  assert.equal(code, 0, stderr);
}

test("no value of any Secret that is synchronised shows in logs, events, statuses or metrics", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 4);
  const [vault, team, refused, other] = namespaces;
  const [canary, rotated, byHand, foreign] = [newCanary(), newCanary(), newCanary(), newCanary()];

  await applySecret(`${vault}/db`, { password: canary });
  await createSecret(kube, `${team}/taken`, { password: foreign });
  // Only the operator's writes: a namespace that is deleted takes its Secrets with it.
  await refuseSecrets(t, kube, [refused], ({ object, oldObject, username }) => {
    if (!username.includes("latchkey")) return undefined;
    const plain = Buffer.from(object.data?.password ?? "", "base64");
    // Long words are cut: first the value, then everything that was sent.
    return `refused: ${plain} ${JSON.stringify([object, oldObject])}`;
  });

  const watching = await createSync(t, kube, `${vault}/db`, {
    to: [`${team}/db`, `${team}/taken`, `${refused}/db`, `${uniqueName("missing")}/db`],
  });
  await untilCondition(kube, watching, "Sync", { reason: "Conflict", message: /\[redacted\]/ });
  const polling = await createdSync(t, kube, `${vault}/db`, {
    to: [`${other}/db`],
    strategy: { poll: { interval: "10s" } },
  });
  await untilSecret(kube, `${team}/db`, { password: canary });

  for (const key of [`${team}/db`, `${other}/db`]) {
    await setValues(kube, key, { password: byHand });
    await untilSecret(kube, key, { password: canary });
  }
  await patchSecret(kube, `${team}/db`, { data: encoded({ password: byHand }), immutable: true });
  await untilSecret(kube, `${team}/db`, { password: canary });

  await setValues(kube, `${vault}/db`, { password: rotated });
  await untilSecret(kube, `${team}/db`, { password: rotated });
  await deleteSecret(kube, `${vault}/db`);
  await createSecret(kube, `${vault}/db`, { password: canary }, { type: "example.com/other" });
  await untilSecret(kube, `${team}/db`, { password: canary }, { type: "example.com/other" });
  await untilSecret(kube, `${other}/db`, { password: canary }, { type: "example.com/other" });

  // A value where none belongs: refused by the schema, or reported as a policy that is none.
  await assert.rejects(createSync(t, kube, `${vault}/db`, { to: [`${team}/${canary.toUpperCase()}`] }));
  const changed = await changeSync(kube, watching, { spec: { dest: [at(`${team}/db`)] } });
  await untilSynced(kube, changed);

  const shown = {
    events: await eventsAsText(),
    statuses: JSON.stringify(await kube.list<SecretSync>(secretSyncs)),
    metadata: await secretMetadata(team),
  };
  await kube.delete(secretSyncs, polling.metadata);
  await untilGone(kube, secretSyncs, polling.metadata);
  await assertHidden(shown);
});

/** What a webhook that reads pull secrets would find fault with. */
function passwordIn(config: string): string {
  const { auths, more } = JSON.parse(config || "{}");
  return more ?? Buffer.from(auths?.["registry.example.com"]?.auth ?? "", "base64").toString();
}

test("no value of a pull secret shows in logs, events, statuses, metrics or answers", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 3);
  const [vault, team, refused] = namespaces;
  const [canary, rotated, byHand] = [newCanary(), newCanary(), newCanary()];
  const [foreign, opaque, odd] = [newCanary(), newCanary(), newCanary()];
  const source = `${vault}/pull`;
  const malformed = JSON.stringify({ auths: `not an object: ${odd}`, more: [odd] });
  await applySecret(source, dockerConfig("robot", canary), dockerConfigType);
  await applySecret(`${vault}/malformed`, { ".dockerconfigjson": malformed }, dockerConfigType);
  await applySecret(`${vault}/opaque`, { password: opaque });
  await createSecret(kube, `${team}/${literalName(`${vault}/malformed`)}`, { password: foreign });
  await refuseSecrets(t, kube, [refused], ({ object, oldObject, username }) => {
    if (!username.includes("latchkey")) return undefined;
    const plain = Buffer.from(object.data?.[".dockerconfigjson"] ?? "", "base64").toString();
    return `refused: ${passwordIn(plain)} ${plain} ${JSON.stringify([object, oldObject])}`;
  });

  const name = uniqueName("set");
  const containers = [{ name, image: "registry.example.com/sidecar:1", env: [{ name: "TOKEN", value: inEnv }] }];
  const set = await createSidecarSet(t, kube, {
    name,
    pullSecrets: [source, `${vault}/malformed`, `${vault}/opaque`],
    spec: { containers },
  });
  await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
  await untilPullSecret(kube, `${team}/${literalName(source)}`, canary);
  await untilSecret(kube, `${team}/${suffixedName(`${vault}/malformed`)}`, { ".dockerconfigjson": malformed });

  const answers: string[] = [];
  const input = JSON.stringify(pod(`${refused}/web`, { labels: labelsFor(set) }));
  const created = await kubectl(["create", "-o", "yaml", "-f", "-"], { input });
  assert.equal(created.code, 0, created.stderr);
  answers.push(created.stdout.replaceAll(inEnv, ""), created.stderr);
  const told = await untilSetCondition(kube, set, "PullSecretsReady", { status: "False", message: /\[redacted\]/ });
  assert.deepEqual(
    told.status?.imagePullSecrets?.map(({ state }) => state),
    ["CopyRefused", "CopyRefused", "SourceTypeRejected"],
  );

  await patchSecret(kube, `${team}/${literalName(source)}`, { data: encoded(dockerConfig("somebody", byHand)) });
  await untilPullSecret(kube, `${team}/${literalName(source)}`, canary);
  await patchSecret(kube, source, { data: encoded(dockerConfig("robot", rotated)) });
  await untilPullSecret(kube, `${team}/${literalName(source)}`, rotated);
  await patchSecret(kube, source, { metadata: { annotations: { "latchkey.dev/no-copy": "true" } } });
  await untilGone(kube, secrets, at(`${team}/${literalName(source)}`));
  await patchSecret(kube, source, { metadata: { annotations: { "latchkey.dev/no-copy": null } } });
  await untilPullSecret(kube, `${team}/${literalName(source)}`, rotated);
  await deleteSecret(kube, `${vault}/malformed`);
  await untilGone(kube, secrets, at(`${team}/${suffixedName(`${vault}/malformed`)}`));

  // Refusals of all kinds, in the words that a user reads.
  const user = await createUser(t, { verbs: ["create"], group: "apps.kruise.io", resource: "sidecarsets" });
  const spoiled = [{ ...containers[0], name: "spoiled", image: "i:1", ports: [{ containerPort: 70_000 }] }];
  const keep = (error: Error) => answers.push(error.message) > 0;
  await assert.rejects(storeSidecarSet(t, user.kube, { pullSecrets: [source] }), keep);
  await assert.rejects(storeSidecarSet(t, kube, { pullSecrets: [source], spec: { containers: spoiled } }), keep);
  const changed = await changeSidecarSet(kube, set, { spec: { imagePullSecrets: [at(source)] } });
  await untilSetCondition(kube, changed, "PullSecretsReady", { reason: "CopyRefused" });

  const all = await kube.list<SidecarSet>(sidecarSets);
  const shown = {
    answers: answers.join("\n"),
    events: await eventsAsText(),
    statuses: JSON.stringify(all.map(({ metadata, status }) => [metadata, status])),
    metadata: await secretMetadata(team, refused),
  };
  await assertHidden(shown);
  assertNowhere({ ...shown, ...(await outputs()), answers: "" }, formsOf(inEnv));
});

test("no value shows in traces", async () => {
  await operator.stop();
  const sent = traces?.received.join("\n") ?? "";
  for (const name of ["sidecars.review", "sidecars.pass", "copy", "copies", "collect", "pass"]) {
    assert.ok(sent.includes(`"name":"${name}"`), `there is a span ${name}`);
  }
  const shown = { traces: sent, log: await readFile(operator.logFile, "utf8") };
  assertNowhere(shown, [...allForms(), ...formsOf(inEnv)]);
});
