import assert from "node:assert/strict";
import { test } from "node:test";
import { secrets } from "../../src/api/objects.ts";
import { untilGiven } from "../../src/testing/injection.ts";
import { at } from "../../src/testing/objects.ts";
import { createSecret, getSecret, patchSecret, theSecret } from "../../src/testing/secrets.ts";
import { copyAt, forgedMarks, installationOf, refer, served, untilStatus } from "../../src/testing/served-clusters.ts";
import {
  createPullSecret,
  dockerConfig,
  dockerConfigType,
  literalName,
  suffixedName,
  untilPullSecret,
} from "../../src/testing/sidecars.ts";
import { createUserNamespace, untilCluster, userCluster } from "../../src/testing/user-clusters.ts";
import { untilGone } from "../../src/testing/wait.ts";

const user = userCluster();
const planted = { type: dockerConfigType } as const;
const theirs = dockerConfig("somebody", "else");

const lostMarks = [
  { mark: "the label of the manager", change: { labels: { "app.kubernetes.io/managed-by": null } } },
  { mark: "the label of the owner", change: { labels: { "latchkey.dev/owner-uid": null } } },
  { mark: "the hash of the source", change: { labels: { "latchkey.dev/source-hash": null } } },
  { mark: "the name of the source", change: { annotations: { "latchkey.dev/source": null } } },
  { mark: "the label of the manager, for another's", change: { labels: { "app.kubernetes.io/managed-by": "Helm" } } },
] as const;
for (const { mark, change } of lostMarks) {
  test(`a copy that lost ${mark} is somebody else's: it stays as it is, and another one is made`, async (t) => {
    const { sources, kube, name } = await served(t, user);
    const [source = ""] = sources;
    const app = await createUserNamespace(t, user);
    const copy = copyAt(app, source);
    await untilPullSecret(user.kube, copy);
    const taken = await patchSecret(user.kube, copy, { metadata: change });
    await untilPullSecret(user.kube, `${app}/${suffixedName(source)}`);
    await untilGiven(user.kube, app, [suffixedName(source)]);
    await untilCluster(kube, name, "Ready", { status: "True" });

    await createPullSecret(kube, `${at(source).namespace}/other`);
    await refer({ kube, name }, [`${at(source).namespace}/other`]);
    await untilGone(user.kube, secrets, at(`${app}/${suffixedName(source)}`));
    assert.deepEqual(await theSecret(user.kube, copy), taken, "nor does it go with the reference");
  });
}

test("the copy of another installation is a foreign Secret like any other", async (t) => {
  const serving = await served(t, user, { sources: ["hub"] });
  const { kube, vault, name } = serving;
  const source = `${vault}/quay`;
  const app = await createUserNamespace(t, user);
  const copy = copyAt(app, source);
  const marks = forgedMarks(copy, source, "00000000-0000-4000-8000-000000000000");
  const before = await createSecret(user.kube, copy, theirs, { ...planted, ...marks });
  await createPullSecret(kube, source);
  await refer(serving, [source]);
  await untilPullSecret(user.kube, `${app}/${suffixedName(source)}`);
  await untilCluster(kube, name, "Ready", { status: "True" });
  await refer(serving, []);
  await untilGone(user.kube, secrets, at(`${app}/${suffixedName(source)}`));
  assert.deepEqual(await theSecret(user.kube, copy), before);
});

test("a Secret that merely carries our marks is not filled, and what it names is not labelled", async (t) => {
  const { kube, vault, sources } = await served(t, user);
  const [source = ""] = sources;
  const secret = `${vault}/not-referenced`;
  await createPullSecret(kube, secret, "n0t-y0urs");
  const app = await createUserNamespace(t, user);
  const copy = copyAt(app, secret);
  const marks = forgedMarks(copy, secret, await installationOf(kube));
  const { metadata } = await createSecret(user.kube, copy, theirs, { ...planted, ...marks });
  // It is taken for one that is not needed any more, and never for one to be kept equal.
  for (let seen = await getSecret(user.kube, copy); seen; seen = await getSecret(user.kube, copy)) {
    assert.equal(seen.metadata.uid, metadata.uid);
    assert.deepEqual(seen.data, {
      ".dockerconfigjson": Buffer.from(theirs[".dockerconfigjson"] ?? "").toString("base64"),
    });
  }
  await untilPullSecret(user.kube, copyAt(app, source));
  assert.equal((await theSecret(kube, secret)).metadata.labels, undefined);
});

test("nor is one in a namespace that is not served", async (t) => {
  const app = await createUserNamespace(t, user);
  const { kube, sources } = await served(t, user, { spec: { excludedNamespaces: [app] } });
  const [source = ""] = sources;
  const copy = copyAt(app, source);
  const marks = forgedMarks(copy, source, await installationOf(kube));
  const { data } = await createSecret(user.kube, copy, theirs, { ...planted, ...marks });
  for (let seen = await getSecret(user.kube, copy); seen; seen = await getSecret(user.kube, copy)) {
    assert.deepEqual(seen.data, data);
  }
});

test("marks on a Secret whose name no copy can have prove nothing", async (t) => {
  const { kube, sources } = await served(t, user);
  const [source = ""] = sources;
  const app = await createUserNamespace(t, user);
  const key = `${app}/some-other-name`;
  const marks = forgedMarks(key, source, await installationOf(kube));
  const before = await createSecret(user.kube, key, theirs, { ...planted, ...marks });
  await untilPullSecret(user.kube, copyAt(app, source));
  await untilGiven(user.kube, app, [literalName(source)]);
  assert.deepEqual(await theSecret(user.kube, key), before);
});

test("of two copies in one namespace the one with the literal name counts, and the other goes", async (t) => {
  const { kube, sources, name } = await served(t, user);
  const [source = ""] = sources;
  const app = await createUserNamespace(t, user);
  const { metadata } = await untilPullSecret(user.kube, copyAt(app, source));
  const second = `${app}/${suffixedName(source)}`;
  await createSecret(user.kube, second, theirs, {
    ...planted,
    ...forgedMarks(second, source, await installationOf(kube)),
  });
  await untilGone(user.kube, secrets, at(second));
  assert.equal((await theSecret(user.kube, copyAt(app, source))).metadata.uid, metadata.uid);
  await untilStatus(
    { kube, name },
    "counts one copy a namespace",
    ({ imagePullSecrets }) => imagePullSecrets?.[0]?.copies === 5,
  );
  await untilGiven(user.kube, app, [literalName(source)]);
});
