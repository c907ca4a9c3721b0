import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { events, type KubeObject, secrets } from "../src/api/objects.ts";
import { kubectl, testEnvironment, testNamespaces, uniqueName } from "../src/testing/cluster.ts";
import { scrape } from "../src/testing/metrics.ts";
import { at, base64, encoded, type SecretSync, secretSyncs } from "../src/testing/objects.ts";
import { refuseSecrets } from "../src/testing/refusals.ts";
import { createSecret, deleteSecret, patchSecret, setValues } from "../src/testing/secrets.ts";
import { changeSync, createdSync, createSync } from "../src/testing/syncs.ts";
import { untilCondition, untilGone, untilSecret, untilSynced } from "../src/testing/wait.ts";

/** Every form in which a careless line could show a value: plain, in base64, in the base64 of something around it. */
function formsOf(canary: string): string[] {
  const around = ["", "x", "xx"].map((before) => base64(`${before}${canary}`).replace(/=+$/, ""));
  // The first and last characters of an inner piece depend on its neighbours.
  return [canary, Buffer.from(canary).toString("hex"), ...around.map((text) => text.slice(4, -4))];
}

test("no value of any Secret shows in logs, events, statuses or metrics", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 4);
  const [vault, team, refused, other] = namespaces;
  const canary = `canary${randomBytes(12).toString("hex")}`;
  const rotated = `canary${randomBytes(12).toString("hex")}`;
  const byHand = `canary${randomBytes(12).toString("hex")}`;
  const foreign = `canary${randomBytes(12).toString("hex")}`;

  // kubectl apply leaves the whole Secret in an annotation of the source.
  const manifest = { apiVersion: "v1", kind: "Secret", metadata: at(`${vault}/db`), stringData: { password: canary } };
  assert.equal((await kubectl(["apply", "-f", "-"], { input: JSON.stringify(manifest) })).code, 0);
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
    log: await readFile(testEnvironment("LATCHKEY_TEST_OPERATOR_LOG"), "utf8"),
    events: JSON.stringify(await kube.list<KubeObject>(events)),
    statuses: JSON.stringify(await kube.list<SecretSync>(secretSyncs)),
    metadata: JSON.stringify((await kube.listMetadata(secrets, { namespace: team })).map(({ metadata }) => metadata)),
    metrics: await scrape(),
  };
  await kube.delete(secretSyncs, polling.metadata);
  await untilGone(kube, secretSyncs, polling.metadata);
  const log = await readFile(testEnvironment("LATCHKEY_TEST_OPERATOR_LOG"), "utf8");
  for (const value of [canary, rotated, byHand, foreign]) {
    for (const form of formsOf(value)) {
      for (const [where, text] of Object.entries({ ...shown, log })) {
        assert.equal(text.includes(form), false, `${where} shows ${form}`);
      }
    }
  }
});
