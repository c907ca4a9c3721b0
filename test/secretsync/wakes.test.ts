import assert from "node:assert/strict";
import { test } from "node:test";
import { namespaces as namespaceResource } from "../../src/api/objects.ts";
import { testNamespaces } from "../../src/testing/cluster.ts";
import { encoded, rarePoll, secretSyncs } from "../../src/testing/objects.ts";
import { createSecret, deleteSecret, patchSecret, setValues, theSecret } from "../../src/testing/secrets.ts";
import { changeSync, createdSync } from "../../src/testing/syncs.ts";
import { untilGone, untilSecret, untilSynced } from "../../src/testing/wait.ts";

test("what happens to others wakes nobody", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 3);
  const [vault, team, other] = namespaces;
  await createSecret(kube, `${vault}/quiet`, { a: "1" });
  await createSecret(kube, `${vault}/busy`, { a: "1" });
  // A poll that is due tomorrow knows nothing of its changed source: any pass before that would show.
  const quiet = await createdSync(t, kube, `${vault}/quiet`, { to: [`${team}/quiet`], strategy: rarePoll });
  await setValues(kube, `${vault}/quiet`, { a: "2" });

  const busy = await createdSync(t, kube, `${vault}/busy`, { to: [`${team}/busy`, `${other}/busy`] });
  await setValues(kube, `${vault}/busy`, { a: "2" });
  await untilSecret(kube, `${team}/busy`, { a: "2" });
  await patchSecret(kube, `${team}/busy`, { data: encoded({ a: "by hand" }) });
  await untilSecret(kube, `${team}/busy`, { a: "2" });
  await deleteSecret(kube, `${other}/busy`);
  await untilSecret(kube, `${other}/busy`, { a: "2" });
  await createSecret(kube, `${team}/unrelated`);
  await deleteSecret(kube, `${team}/unrelated`);
  const labelled = { type: "merge", body: { metadata: { labels: { touched: "yes" } } } } as const;
  await kube.patch(namespaceResource, { name: other }, labelled);
  await untilSynced(kube, await changeSync(kube, busy, { spec: { dest: [{ namespace: team, name: "busy" }] } }));
  await kube.delete(secretSyncs, busy.metadata);
  await untilGone(kube, secretSyncs, busy.metadata);
  await createdSync(t, kube, `${vault}/busy`, { to: [`${other}/marker`] });
  assert.deepEqual((await theSecret(kube, `${team}/quiet`)).data, encoded({ a: "1" }));

  // And that it would have shown: each of these is about it.
  await kube.patch(namespaceResource, { name: team }, labelled);
  await untilSecret(kube, `${team}/quiet`, { a: "2" });
  await setValues(kube, `${vault}/quiet`, { a: "3" });
  await deleteSecret(kube, `${team}/quiet`);
  await untilSecret(kube, `${team}/quiet`, { a: "3" });
  await setValues(kube, `${vault}/quiet`, { a: "4" });
  await changeSync(kube, quiet, { metadata: { annotations: { touched: "yes" } } });
  await untilSecret(kube, `${team}/quiet`, { a: "4" });
});
