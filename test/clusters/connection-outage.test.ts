import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { secrets } from "../../src/api/objects.ts";
import { connectCluster, idOf, untilMetric } from "../../src/testing/connections.ts";
import { at } from "../../src/testing/objects.ts";
import { deleteSecret, setValues } from "../../src/testing/secrets.ts";
import { changeSpec, copyAt, served, untilEvent } from "../../src/testing/served-clusters.ts";
import { createPullSecret, dockerConfig, untilPullSecret } from "../../src/testing/sidecars.ts";
import { clusters, createUserNamespace, untilCluster, userCluster } from "../../src/testing/user-clusters.ts";
import { conditionIn, untilGone } from "../../src/testing/wait.ts";

const user = userCluster();
const other = userCluster();

const ready = { status: "True", reason: "Served" } as const;
const unreachable = { status: "False", reason: "Unreachable" } as const;
const silence = () => `no answer from ${user.plane.server} for 10 s: `;

test("a cluster that is down keeps what it has; when it is back everything that was missed is done", async (t) => {
  const { kube, name, sources, events, vault } = await served(t, user, { sources: ["kept", "rotated", "revoked"] });
  const [kept = "", rotated = "", revoked = ""] = sources;
  const app = await createUserNamespace(t, user);
  const before = await untilPullSecret(user.kube, copyAt(app, rotated));
  await untilPullSecret(user.kube, copyAt(app, revoked));
  await untilMetric("latchkey_cluster_reachable", { cluster: name }, (value) => value === 1);
  const position = events.inShort.length;

  await user.plane.components.apiserver.stop();
  const stoppedAt = performance.now();
  t.after(() => user.plane.components.apiserver.start());
  const told = await untilCluster(kube, name, "Reachable", unreachable);
  const silentMs = performance.now() - stoppedAt;
  assert.ok(silentMs >= 9_900, `told after ${silentMs} ms, not within 10 s`);
  assert.equal(conditionIn(told, "Reachable")?.message, `${silence()}connection refused`);
  assert.equal(conditionIn(told, "Ready")?.reason, "Unreachable");
  assert.equal(conditionIn(told, "Ready")?.message, conditionIn(told, "Reachable")?.message);
  assert.equal(conditionIn(told, "Stalled"), undefined, "it is tried again");
  assert.equal(told.status?.namespaces?.summary, "5/5", "as it was last seen");
  await untilEvent(events, "Warning Unreachable");
  await untilMetric("latchkey_cluster_reachable", { cluster: name }, (value) => value === 0);
  const silent = { cluster: name, kind: "namespaces" };
  await untilMetric("latchkey_cluster_last_event_age_seconds", silent, (value) => (value ?? 0) > 10);

  await setValues(kube, rotated, dockerConfig("robot", "anew"));
  await deleteSecret(kube, revoked);
  await createPullSecret(kube, `${vault}/added`);
  await changeSpec({ kube, name }, { imagePullSecrets: [kept, rotated, revoked, `${vault}/added`].map(at) });
  const still = await untilCluster(kube, name, "Reachable", { ...unreachable, generation: 2 });
  assert.deepEqual(
    [conditionIn(still, "Reachable")?.message, conditionIn(still, "Reachable")?.lastTransitionTime],
    [conditionIn(told, "Reachable")?.message, conditionIn(told, "Reachable")?.lastTransitionTime],
    "it has been down since then",
  );

  await user.plane.components.apiserver.start();
  const missing = { status: "False", reason: "SourceMissing", message: /revoked/ } as const;
  await untilCluster(kube, name, "Ready", missing);
  const after = await untilPullSecret(user.kube, copyAt(app, rotated), "anew");
  assert.equal(after.metadata.uid, before.metadata.uid, "it was kept, and changed in place");
  await untilGone(user.kube, secrets, at(copyAt(app, revoked)));
  await untilPullSecret(user.kube, copyAt(app, `${vault}/added`));
  await untilPullSecret(user.kube, copyAt(app, kept));
  await untilEvent(events, "Normal Reachable");
  const connection = events.inShort.slice(position).filter((event) => /Reachable|Unreachable/.test(event));
  assert.deepEqual(connection, ["Warning Unreachable", "Normal Reachable"]);
  await untilMetric("latchkey_cluster_reachable", { cluster: name }, (value) => value === 1);
  await untilMetric("latchkey_cluster_last_event_age_seconds", silent, (value) => (value ?? 100) < 100);
});

test("a cluster that swallows everything is noticed as well, and delays no other", async (t) => {
  const { kube, name, sources, events } = await served(t, user);
  const [source = ""] = sources;
  const healthy = await served(t, other);
  const [its = ""] = healthy.sources;
  const { apiserver } = user.plane.components;
  apiserver.pause();
  t.after(() => apiserver.resume());
  const pausedAt = performance.now();
  // Writes that never come to an end are under way now.
  await setValues(kube, source, dockerConfig("robot", "two"));

  await setValues(kube, its, dockerConfig("robot", "two"));
  await untilPullSecret(other.kube, copyAt("default", its), "two");
  const app = await createUserNamespace(t, other);
  await untilPullSecret(other.kube, copyAt(app, its), "two");

  const told = await untilCluster(kube, name, "Reachable", unreachable);
  assert.ok(performance.now() - pausedAt >= 9_900);
  assert.equal(conditionIn(told, "Reachable")?.message, `${silence()}timed out`);
  await setValues(kube, its, dockerConfig("robot", "three"));
  await untilPullSecret(other.kube, copyAt(app, its), "three");
  const theirs = await untilCluster(kube, healthy.name, "Ready", ready);
  assert.equal(conditionIn(theirs, "Reachable")?.status, "True");

  apiserver.resume();
  await untilCluster(kube, name, "Ready", ready);
  await untilPullSecret(user.kube, copyAt("kube-system", source), "two");
  await untilEvent(events, "Normal Reachable");
});

test("a hiccup of a few seconds is no news, and nothing is missed", async (t) => {
  const { kube, name, sources, events } = await served(t, user);
  const [source = ""] = sources;
  const before = await untilCluster(kube, name, "Reachable", { status: "True" });
  const { apiserver } = user.plane.components;
  apiserver.pause();
  t.after(() => apiserver.resume());
  await setValues(kube, source, dockerConfig("robot", "two"));
  // Shorter than the ten seconds after which it would be told.
  await sleep(6_000);
  apiserver.resume();

  await untilPullSecret(user.kube, copyAt("default", source), "two");
  const after = await untilCluster(kube, name, "Ready", ready);
  const since = ({ status }: typeof after) => status?.conditions?.find(({ type }) => type === "Reachable");
  assert.equal(since(after)?.lastTransitionTime, since(before)?.lastTransitionTime);
  assert.deepEqual(
    events.inShort.filter((event) => /eachable/.test(event)),
    [],
  );
});

test("the series of a deleted Cluster go away", async (t) => {
  const { kube, name } = await connectCluster(t, user.kubeconfig);
  const ready = await untilCluster(kube, name, "Ready", { status: "True" });
  assert.equal(ready.status?.clusterID, await idOf(user.kube));
  const metrics = ["latchkey_cluster_reachable", "latchkey_cluster_last_event_age_seconds"];
  for (const metric of metrics) await untilMetric(metric, { cluster: name }, (value) => value !== undefined);
  await changeSpec({ kube, name }, { pause: true });
  await untilMetric("latchkey_cluster_last_event_age_seconds", { cluster: name }, (value) => value === undefined);
  await changeSpec({ kube, name }, { pause: false });
  await untilCluster(kube, name, "Ready", { status: "True" });

  await kube.delete(clusters, { name });
  await untilGone(kube, clusters, { name });
  for (const metric of metrics) await untilMetric(metric, { cluster: name }, (value) => value === undefined);
});
