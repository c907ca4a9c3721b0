import assert from "node:assert/strict";
import { test } from "node:test";
import { testNamespaces } from "../../src/testing/cluster.ts";
import { createSecret, setValues, theSecret } from "../../src/testing/secrets.ts";
import { createdSync, createSync } from "../../src/testing/syncs.ts";
import { untilCondition, untilSecret, untilSynced } from "../../src/testing/wait.ts";

test("chains converge: a change runs through to the end", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 4);
  const [a, b, c, d] = namespaces;
  // The last link first: each source appears only when the link before it is there.
  const syncs = [
    await createSync(t, kube, `${c}/db`, { to: [`${d}/db`] }),
    await createSync(t, kube, `${b}/db`, { to: [`${c}/db`] }),
    await createSync(t, kube, `${a}/db`, { to: [`${b}/db`] }),
  ];
  await createSecret(kube, `${a}/db`, { v: "1" });
  await untilSecret(kube, `${d}/db`, { v: "1" });
  await setValues(kube, `${a}/db`, { v: "2" });
  await untilSecret(kube, `${d}/db`, { v: "2" });
  for (const sync of syncs) await untilSynced(kube, sync);
});

for (const collision of ["Prevent", "IfNoController", "None"]) {
  test(`${collision}: of a cycle the second reports the conflict, nobody writes for ever`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 2);
    const [a, b] = namespaces;
    await createSecret(kube, `${a}/db`, { v: "1" });
    await createdSync(t, kube, `${a}/db`, { to: [`${b}/db`] });
    const second = await createSync(t, kube, `${b}/db`, { to: [`${a}/db`], collision });
    const message = new RegExp(`${a}/db`);
    await untilCondition(kube, second, "Sync", { status: "False", reason: "Conflict", message });

    await setValues(kube, `${a}/db`, { v: "2" });
    await untilSecret(kube, `${b}/db`, { v: "2" });
    const [source, copy] = [await theSecret(kube, `${a}/db`), await theSecret(kube, `${b}/db`)];
    // More passes over the same source: were anybody writing in circles, the copy would have moved on.
    await createdSync(t, kube, `${a}/db`, { to: [`${b}/marker`] });
    await createdSync(t, kube, `${b}/db`, { to: [`${b}/second-marker`] });
    assert.deepEqual((await theSecret(kube, `${a}/db`)).data, source.data);
    assert.equal((await theSecret(kube, `${a}/db`)).metadata.ownerReferences, undefined);
    assert.deepEqual((await theSecret(kube, `${b}/db`)).data, copy.data);
  });

  test(`${collision}: of a longer cycle the one that closes it reports the conflict`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 3);
    const [a, b, c] = namespaces;
    await createSecret(kube, `${a}/db`, { v: "1" });
    await createdSync(t, kube, `${a}/db`, { to: [`${b}/db`] });
    await createdSync(t, kube, `${b}/db`, { to: [`${c}/db`] });
    for (const target of [a, b]) {
      const closing = await createSync(t, kube, `${c}/db`, { to: [`${target}/db`], collision });
      await untilCondition(kube, closing, "Sync", { reason: "Conflict", message: new RegExp(`${target}/db`) });
    }
    await setValues(kube, `${a}/db`, { v: "2" });
    await untilSecret(kube, `${c}/db`, { v: "2" });
  });
}
