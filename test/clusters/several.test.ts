import assert from "node:assert/strict";
import { test } from "node:test";
import { secrets } from "../../src/api/objects.ts";
import { at } from "../../src/testing/objects.ts";
import { deleteSecret, getSecret, setValues, theSecret } from "../../src/testing/secrets.ts";
import { copyAt, refer, served, untilEvent, untilStatus } from "../../src/testing/served-clusters.ts";
import { dockerConfig, untilPullSecret } from "../../src/testing/sidecars.ts";
import { untilCluster, userCluster } from "../../src/testing/user-clusters.ts";
import { untilGone, untilMetadata } from "../../src/testing/wait.ts";

const [one, other] = [userCluster(), userCluster()];

test("a source of two clusters reaches both, and is followed until the last of them lets it go", async (t) => {
  const first = await served(t, one);
  const { kube, sources } = first;
  const [source = ""] = sources;
  const second = await served(t, other, { sources: ["own"], references: [source] });
  const [own = ""] = second.sources;
  await setValues(kube, source, dockerConfig("robot", "second"));
  for (const user of [one, other]) await untilPullSecret(user.kube, copyAt("kube-system", source), "second");
  assert.equal(await getSecret(one.kube, copyAt("default", own)), undefined, "what the other references stays there");

  await refer(first, []);
  await untilGone(one.kube, secrets, at(copyAt("default", source)));
  await untilCluster(kube, first.name, "PullSecretsReady", { status: "True", reason: "NothingToCopy" });
  assert.equal((await theSecret(kube, source)).metadata.labels?.["latchkey.dev/source"], "true");
  await setValues(kube, source, dockerConfig("robot", "third"));
  await untilPullSecret(other.kube, copyAt("default", source), "third");
  await refer(second, [own]);
  await untilMetadata(kube, source, "is let go", ({ metadata }) => metadata.labels === undefined);
  await untilGone(other.kube, secrets, at(copyAt("default", source)));
});

test("a deleted source is revoked where that is wanted, and stays where it is not", async (t) => {
  const first = await served(t, one);
  const { kube, sources } = first;
  const [source = ""] = sources;
  const second = await served(t, other, { sources: [], references: [source], spec: { onSourceDeleted: "Retain" } });
  const kept = await theSecret(other.kube, copyAt("default", source));
  await deleteSecret(kube, source);
  await untilGone(one.kube, secrets, at(copyAt("default", source)));
  await untilStatus(first, "counts none", ({ imagePullSecrets }) => imagePullSecrets?.[0]?.copies === 0);
  for (const { name } of [first, second]) {
    await untilCluster(kube, name, "PullSecretsReady", { status: "False", reason: "SourceMissing" });
  }
  assert.deepEqual(await theSecret(other.kube, copyAt("default", source)), kept);
  await untilEvent(first.events, "Warning SourceDeleted");
  assert.ok(!second.events.inShort.includes("Warning SourceDeleted"));
});

test("trouble in one cluster is none of the other's", async (t) => {
  const first = await served(t, one);
  const second = await served(t, other);
  const [source = ""] = first.sources;
  await deleteSecret(first.kube, source);
  await untilCluster(first.kube, first.name, "Ready", { status: "False", reason: "SourceMissing" });
  await setValues(second.kube, second.sources[0] ?? "", dockerConfig("robot", "second"));
  await untilPullSecret(other.kube, copyAt("default", second.sources[0] ?? ""), "second");
  await untilCluster(second.kube, second.name, "Ready", { status: "True" });
});
