import assert from "node:assert/strict";
import { test } from "node:test";
import { type Secret, secrets } from "../../src/api/objects.ts";
import { auditPosition, operatorWrites } from "../../src/testing/audit.ts";
import { at, base64, encoded } from "../../src/testing/objects.ts";
import { deleteSecret, getSecret, patchSecret, setValues, theSecret } from "../../src/testing/secrets.ts";
import { copyAt, recordedIn, served, untilStatus } from "../../src/testing/served-clusters.ts";
import { dockerConfig, literalName, untilPullSecret } from "../../src/testing/sidecars.ts";
import { createUserNamespace, type UserCluster, untilCluster, userCluster } from "../../src/testing/user-clusters.ts";
import { untilMetadata } from "../../src/testing/wait.ts";

const user = userCluster();
const key = ".dockerconfigjson";

interface Edit {
  readonly name: string;
  edit(user: UserCluster, copy: string): Promise<unknown>;
}

const edits: readonly Edit[] = [
  { name: "a value is changed", edit: ({ kube }, copy) => setValues(kube, copy, dockerConfig("robot", "by hand")) },
  { name: "a key is added", edit: ({ kube }, copy) => setValues(kube, copy, { theirs: "yes" }) },
  {
    name: "a value is changed under our own name",
    edit: ({ kube }, copy) =>
      kube.patch(
        secrets,
        at(copy),
        { type: "merge", body: { data: encoded(dockerConfig("robot", "by hand")) } },
        { fieldManager: "latchkey" },
      ),
  },
  {
    name: "the record of what was copied is removed",
    edit: ({ kube }, copy) =>
      patchSecret(kube, copy, { metadata: { annotations: { "latchkey.dev/fingerprint": null } } }),
  },
  {
    name: "everything is applied over it by somebody else",
    edit: ({ kube }, copy) =>
      kube.apply<Secret>(
        secrets,
        { apiVersion: "v1", kind: "Secret", metadata: at(copy), data: encoded(dockerConfig("robot", "applied")) },
        { fieldManager: "somebody", force: true },
      ),
  },
];
for (const { name, edit } of edits) {
  test(`${name}: the copy is restored in place`, async (t) => {
    const { sources } = await served(t, user);
    const [source = ""] = sources;
    const copy = copyAt("default", source);
    const before = await untilPullSecret(user.kube, copy);
    await patchSecret(user.kube, copy, { metadata: { labels: { team: "a" }, annotations: { note: "theirs" } } });
    await edit(user, copy);
    const isRestored = ({ data, metadata }: Secret) =>
      JSON.stringify(data) === JSON.stringify(before.data) &&
      metadata.annotations?.["latchkey.dev/fingerprint"] === before.metadata.annotations?.["latchkey.dev/fingerprint"];
    const { metadata } = await untilMetadata(user.kube, copy, "is restored", isRestored);
    assert.equal(metadata.uid, before.metadata.uid);
    assert.equal(metadata.labels?.team, "a");
    assert.equal(metadata.annotations?.note, "theirs");
  });
}

test("a deleted copy is made again under its name", async (t) => {
  const { sources } = await served(t, user, { sources: ["quay", "hub"] });
  const [source = ""] = sources;
  for (const namespace of ["kube-system", "default"]) {
    const copy = copyAt(namespace, source);
    const { metadata } = await untilPullSecret(user.kube, copy);
    await deleteSecret(user.kube, copy);
    const again = await untilPullSecret(user.kube, copy);
    assert.notEqual(again.metadata.uid, metadata.uid);
  }
  assert.deepEqual(await recordedIn(user), { names: sources.map(literalName).join("\n") });
});

test("a copy that somebody has made immutable is made anew when its source changes", async (t) => {
  const { kube, sources, name } = await served(t, user);
  const [source = ""] = sources;
  const copy = copyAt("default", source);
  const { metadata } = await untilPullSecret(user.kube, copy);
  await patchSecret(user.kube, copy, { immutable: true });
  await setValues(kube, source, dockerConfig("robot", "second"));
  const again = await untilPullSecret(user.kube, copy, "second");
  assert.notEqual(again.metadata.uid, metadata.uid);
  await untilCluster(kube, name, "Ready", { status: "True" });
});

test("a rotation is one write a copy, in place, and nothing else", async (t) => {
  const apps = [];
  for (let count = 0; count < 6; count++) apps.push(await createUserNamespace(t, user));
  const { kube, sources, name, vault } = await served(t, user, { sources: ["quay", "hub"] });
  const [quay = "", hub = ""] = sources;
  const all = ["kube-system", "kube-public", "kube-node-lease", "default", ...apps];
  await untilStatus({ kube, name }, "is complete", ({ namespaces }) => namespaces?.summary === "10/10");
  const before = await Promise.all(all.map((namespace) => theSecret(user.kube, copyAt(namespace, quay))));
  const others = await Promise.all(all.map((namespace) => theSecret(user.kube, copyAt(namespace, hub))));
  const [here, home] = [await user.position(), await auditPosition(kube, vault)];

  await setValues(kube, quay, dockerConfig("robot", "second"));
  for (const [index, namespace] of all.entries()) {
    const { metadata } = await untilPullSecret(user.kube, copyAt(namespace, quay), "second");
    assert.equal(metadata.uid, before[index]?.metadata.uid);
  }
  // What would come of it besides comes within this time: a status is told a moment later.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const writes = await user.writes({ from: here });
  assert.deepEqual(
    writes.map(({ verb, resource, namespace }) => `${verb} ${resource} ${namespace}`).sort(),
    all.map((namespace) => `patch secrets ${namespace}`).sort(),
  );
  const told = await operatorWrites(kube, vault, { from: home });
  const ours = told.filter((write) => write.name === name || write.namespace === vault);
  assert.ok(ours.length <= 1 && ours.every(({ subresource }) => subresource === "status"), JSON.stringify(ours));
  assert.deepEqual(await Promise.all(all.map((namespace) => theSecret(user.kube, copyAt(namespace, hub)))), others);
});

test("keys that a source gains and loses are gained and lost by its copies", async (t) => {
  const { kube, sources } = await served(t, user);
  const [source = ""] = sources;
  const copy = copyAt("default", source);
  await untilPullSecret(user.kube, copy);
  await setValues(kube, source, { note: "more" });
  await untilMetadata(user.kube, copy, "has the key", ({ data }) => data?.note === base64("more"));
  await patchSecret(kube, source, { data: { note: null } });
  await untilMetadata(
    user.kube,
    copy,
    "lost the key",
    ({ data }) => data?.note === undefined && data?.[key] !== undefined,
  );
});

test("labels and annotations of a source stay with it", async (t) => {
  const { kube, sources } = await served(t, user);
  const [source = ""] = sources;
  const meta = { metadata: { labels: { team: "a" }, annotations: { note: "internal" } } };
  await patchSecret(kube, source, { ...meta, data: encoded(dockerConfig("robot", "second")) });
  const { metadata } = await untilPullSecret(user.kube, copyAt("default", source), "second");
  assert.equal(metadata.labels?.team, undefined);
  assert.equal(metadata.annotations?.note, undefined);
  assert.ok(await getSecret(kube, source));
});
