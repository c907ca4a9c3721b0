import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { events, type KubeObject, type Secret } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { testEnvironment, testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { at, base64, bothStrategies, type SecretSync, secretSyncs } from "../../src/testing/objects.ts";
import { type Asked, refuseSecrets } from "../../src/testing/refusals.ts";
import { createSecret, setValues } from "../../src/testing/secrets.ts";
import { changeSync, createdSync, createSync } from "../../src/testing/syncs.ts";
import { untilCondition, untilGone, untilSecret } from "../../src/testing/wait.ts";

const plain = (object: Secret | undefined) =>
  Object.values(object?.data ?? {}).map((value) => Buffer.from(value, "base64").toString());

/** The words of a webhook that means well: it quotes everything it was sent. */
function quoting({ object, oldObject }: Asked): string {
  const quoted = [object, oldObject].flatMap((secret) => [...plain(secret), JSON.stringify(secret?.data)]);
  return `weak password: ${quoted.join(" | ")} in ${object.metadata.name}`;
}

/** Nothing in status, events and log shows any of these values. */
async function assertHidden(kube: Kube, sync: SecretSync, values: readonly string[]): Promise<void> {
  const seen = await kube.get<SecretSync>(secretSyncs, sync.metadata);
  const told = await kube.list<KubeObject>(events, { fieldSelector: `involvedObject.uid=${sync.metadata.uid}` });
  const shown = {
    status: JSON.stringify(seen?.status ?? {}),
    events: JSON.stringify(told),
    log: await readFile(testEnvironment("LATCHKEY_TEST_OPERATOR_LOG"), "utf8"),
  };
  for (const value of values.filter(Boolean)) {
    for (const text of [value, JSON.stringify(value).slice(1, -1), base64(value)]) {
      for (const [where, words] of Object.entries(shown)) {
        assert.equal(words.includes(text), false, `${where} shows ${text}`);
      }
    }
  }
}

for (const { named, strategy } of bothStrategies) {
  test(`${named}: a refusing webhook that quotes what it was sent gives nothing away`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 3);
    const [vault, refused, team] = namespaces;
    const values = {
      short: uniqueName("pw"),
      long: `${uniqueName("long")} with "quotes" and \\ and\nlines`,
      multibyte: `${uniqueName("pässwörd")}✓`,
      empty: "",
    };
    await createSecret(kube, `${vault}/db`, values);
    await refuseSecrets(t, kube, [refused], quoting);
    const sync = await createSync(t, kube, `${vault}/db`, { to: [`${refused}/db`, `${team}/db`], strategy });
    const message = new RegExp(`${refused}/db\\b.*weak password: .*\\[redacted\\].* in db`, "s");
    await untilCondition(kube, sync, "Sync", { status: "False", reason: "DestinationRefused", message });
    await untilSecret(kube, `${team}/db`, values);
    await assertHidden(kube, sync, Object.values(values));
  });
}

const answers = [
  { code: 403, reason: "Forbidden" },
  { code: 422, reason: "Invalid" },
  { code: 400 },
  { code: 409, reason: "Conflict" },
  { code: 500, reason: "InternalError" },
  { code: 500 },
];

for (const answer of answers) {
  const named = `${answer.code}${answer.reason ? ` ${answer.reason}` : ""}`;

  test(`a copy that may not be created or updated, answered ${named}: nothing shows`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 3);
    const [vault, refused, team] = namespaces;
    const [before, after] = [uniqueName("before"), uniqueName("after")];
    await createSecret(kube, `${vault}/db`, { password: before });
    const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${refused}/db`, `${team}/marker`] });
    await refuseSecrets(t, kube, [refused], (asked) => (isOperator(asked) ? quoting(asked) : undefined), answer);
    await setValues(kube, `${vault}/db`, { password: after });
    await untilSecret(kube, `${team}/marker`, { password: after });
    const dest = ["db", "new"].map((name) => at(`${refused}/${name}`));
    const changed = await changeSync(kube, sync, { spec: { dest: [...dest, at(`${team}/marker`)] } });
    await untilCondition(kube, changed, "Sync", { status: "False" });
    await assertHidden(kube, sync, [before, after]);
  });

  test(`a source that may not be labelled, answered ${named}: nothing shows, the copies are served`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 2);
    const [vault, team] = namespaces;
    const password = uniqueName("source");
    await createSecret(kube, `${vault}/db`, { password });
    const { stop } = await refuseSecrets(
      t,
      kube,
      [vault],
      (asked) => (isOperator(asked) ? quoting(asked) : undefined),
      answer,
    );
    const sync = await createSync(t, kube, `${vault}/db`, { to: [`${team}/db`] });
    await untilSecret(kube, `${team}/db`, { password });
    await untilCondition(kube, sync, "Sync", { status: "False" });
    await assertHidden(kube, sync, [password]);
    await stop();
  });

  test(`a copy that may not be deleted, answered ${named}: nothing shows, and it goes when it may`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 2);
    const [vault, refused] = namespaces;
    const password = uniqueName("source");
    await createSecret(kube, `${vault}/db`, { password });
    const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${refused}/db`] });
    const isRefused = (asked: Asked) => isOperator(asked) && asked.operation === "DELETE";
    const { stop } = await refuseSecrets(
      t,
      kube,
      [refused],
      (asked) => (isRefused(asked) ? quoting(asked) : undefined),
      answer,
    );
    await kube.delete(secretSyncs, sync.metadata);
    await untilCondition(kube, sync, "Sync", { status: "False" });
    await assertHidden(kube, sync, [password]);
    await stop();
    await untilGone(kube, secretSyncs, sync.metadata);
    await assertHidden(kube, sync, [password]);
  });
}

function isOperator({ username }: Asked): boolean {
  return username.startsWith("system:serviceaccount:latchkey");
}
