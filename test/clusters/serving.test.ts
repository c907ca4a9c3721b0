import assert from "node:assert/strict";
import { test } from "node:test";
import { type Secret, secrets } from "../../src/api/objects.ts";
import { testNamespaces } from "../../src/testing/cluster.ts";
import { untilGiven } from "../../src/testing/injection.ts";
import { at } from "../../src/testing/objects.ts";
import { createPullSecret, literalName, untilPullSecret } from "../../src/testing/sidecars.ts";
import { createUserNamespace, serveCluster, untilCluster, userCluster } from "../../src/testing/user-clusters.ts";
import { untilGone } from "../../src/testing/wait.ts";

const user = userCluster();
const old = userCluster({ emulatedVersion: "1.33" });

for (const [mode, cluster] of [
  ["Policy", user],
  ["ServiceAccount", old],
] as const) {
  test(`mode ${mode}: every namespace has a copy, every Pod names it, and the copies follow their source`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 1);
    const source = `${namespaces[0]}/quay`;
    await createPullSecret(kube, source, "one");
    const { cluster: created } = await serveCluster(t, { user: cluster, references: [source] });
    const name = literalName(source);

    const ready = await untilCluster(kube, created.metadata.name, "Ready", { status: "True", reason: "Served" });
    assert.equal(ready.status?.injection?.mode, mode);
    assert.equal(ready.status?.credentialsFrom, "Cluster");
    for (const namespace of ["kube-system", "kube-public", "kube-node-lease", "default"]) {
      await untilPullSecret(cluster.kube, `${namespace}/${name}`, "one");
    }

    const app = await createUserNamespace(t, cluster);
    const copy = await untilPullSecret(cluster.kube, `${app}/${name}`, "one");
    await untilGiven(cluster.kube, app, [name]);

    const { data } = (await kube.get<Secret>(secrets, at(source))) as Secret;
    const config = Buffer.from(data?.[".dockerconfigjson"] ?? "", "base64")
      .toString()
      .replaceAll(/"auth":"[^"]+"/g, `"auth":"${Buffer.from("robot:two").toString("base64")}"`);
    const body = { data: { ".dockerconfigjson": Buffer.from(config).toString("base64") } };
    await kube.patch(secrets, at(source), { type: "merge", body });
    const rotated = await untilPullSecret(cluster.kube, `${app}/${name}`, "two");
    assert.equal(rotated.metadata.uid, copy.metadata.uid, "in place");

    await kube.delete(secrets, at(source));
    await untilGone(cluster.kube, secrets, at(`${app}/${name}`));
    await untilCluster(kube, created.metadata.name, "Ready", { status: "False", reason: "SourceMissing" });
  });
}
