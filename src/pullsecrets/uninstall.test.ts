import assert from "node:assert/strict";
import { test } from "node:test";
import { encoded } from "../testing/objects.ts";
import { barePlane, forgedMarks, holding, served, untilUnlabelled } from "../testing/pull-secrets.ts";
import { createSecret, getSecret, theSecret } from "../testing/secrets.ts";
import { uninstallPullSecrets } from "./uninstall.ts";

barePlane();

for (const copies of ["keep", "orphan", "delete"] as const) {
  test(`labels go; copies: ${copies}`, async (t) => {
    const { kube, source, teamA, installation, replica, copies: made } = await served(t);
    await replica.stop();
    const misnamed = `${teamA}/my-own`;
    const theirs = await createSecret(kube, misnamed, { a: "b" }, forgedMarks(misnamed, source, installation));
    const before = await Promise.all(made.map((copy) => theSecret(kube, copy)));

    const lines = await uninstallPullSecrets(kube, installation, { copies });
    const released = {
      keep: [],
      orphan: ["2 copies of pull secrets released"],
      delete: ["2 copies of pull secrets deleted"],
    };
    assert.deepEqual(lines, [`label removed from Secret ${source}`, ...released[copies]]);
    await untilUnlabelled(kube, source);
    assert.deepEqual(await theSecret(kube, misnamed), theirs);
    for (const [index, copy] of made.entries()) {
      const left = await getSecret(kube, copy);
      if (copies === "delete") assert.equal(left, undefined);
      if (copies === "keep") assert.deepEqual(left, before[index]);
      if (copies !== "orphan") continue;
      assert.deepEqual(left?.data, encoded(holding("one")));
      assert.deepEqual([left?.metadata.labels, left?.metadata.annotations], [undefined, undefined]);
    }
    assert.deepEqual(await uninstallPullSecrets(kube, installation, { copies }), []);
  });
}
