import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { auditPosition, operatorWrites } from "../../src/testing/audit.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { createSecret } from "../../src/testing/secrets.ts";
import { copiesIn, copyAt, refer, served } from "../../src/testing/served-clusters.ts";
import { createPullSecret, literalName, suffixedName, untilPullSecret } from "../../src/testing/sidecars.ts";
import { createUserNamespace, untilCluster, userCluster } from "../../src/testing/user-clusters.ts";
import type { Operator } from "../../tools/local/operator.ts";

const user = userCluster();
let operator: Operator;
const own = ownPlane(async (plane) => {
  operator = await plane.operator();
});

test("nothing changed means no writes, here and at home; nor after a restart", async (t) => {
  const [app, other] = [await createUserNamespace(t, user), await createUserNamespace(t, user)];
  const serving = await served(t, user);
  const { kube, vault, name } = serving;
  const [quay = ""] = serving.sources;
  // A name that is held, two that are, and a source that is missing.
  const [held, collided, missing] = [`${vault}/held`, `${vault}/collided`, `${vault}/missing`];
  for (const name of [literalName(held), literalName(collided), suffixedName(collided)]) {
    await createSecret(user.kube, `${app}/${name}`, { theirs: "yes" });
  }
  for (const source of [held, collided]) await createPullSecret(kube, source);
  await refer(serving, [held, quay, collided, missing]);
  await untilPullSecret(user.kube, `${app}/${suffixedName(held)}`);
  for (const source of [held, collided]) await untilPullSecret(user.kube, copyAt(other, source));
  await untilCluster(kube, name, "Ready", { status: "False", reason: "SourceMissing", message: /are held by Secrets/ });
  await untilCluster(kube, name, "Injection", {
    status: "True",
    message: /^mode Policy; 1 namespace with names of its own$/,
  });
  await sleep(3_000);

  const before = await copiesIn(user);
  const [here, home] = [await user.position(), await auditPosition(kube, vault)];
  await sleep(60_000);
  assert.deepEqual(await user.writes({ from: here }), []);
  assert.deepEqual(await operatorWrites(kube, vault, { from: home }), []);

  await operator.stop();
  operator = await own.operator();
  // Its first pass is over when a source that comes is served.
  await createPullSecret(kube, missing);
  await untilPullSecret(user.kube, copyAt("default", missing));
  await untilCluster(kube, name, "Ready", { status: "False", reason: "Collision" });
  // Whether both names are still held is found out by trying.
  const writes = (await user.writes({ from: here })).filter(({ code }) => code !== 409);
  const isOfTheMissing = (write: { name: string }) => write.name === "" || write.name === literalName(missing);
  assert.deepEqual(
    writes.filter((write) => write.verb !== "create" || write.resource !== "secrets"),
    [],
  );
  assert.equal(writes.length, 6, "a copy in each namespace");
  assert.ok(writes.every(isOfTheMissing), JSON.stringify(writes));
  const after = await copiesIn(user);
  for (const [key, copy] of before) assert.deepEqual(after.get(key), copy);
});
