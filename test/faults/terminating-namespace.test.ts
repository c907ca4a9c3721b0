import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeObject, namespaces as namespaceKind, secrets } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { createNamespace, testNamespaces } from "../../src/testing/cluster.ts";
import { at } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { deleteSecret, patchSecret, setValues, theSecret } from "../../src/testing/secrets.ts";
import {
  createInjectedPod,
  createPullSecret,
  createSidecarSet,
  dockerConfig,
  labelsFor,
  literalName,
  pods,
  untilPullSecret,
  untilSetCondition,
} from "../../src/testing/sidecars.ts";
import { until, untilGone, untilMetadata } from "../../src/testing/wait.ts";

const own = ownPlane();

const hold = { finalizers: ["example.com/hold"] };
/** Each makes the operator look at every copy of the source again. */
const rounds = 20;
const mostCalls = 5;

test("a namespace that does not come to its end is left alone, also by an operator that starts meanwhile", async (t) => {
  const proxy = await own.proxy();
  let operator = await own.operator({ through: proxy });
  const { kube, namespaces } = await testNamespaces(t, 4);
  const [vault, team, withPod, withCopy] = namespaces;
  const source = `${vault}/pull`;
  const copyIn = (namespace: string) => `${namespace}/${literalName(source)}`;
  await createPullSecret(kube, source);
  const set = await createSidecarSet(t, kube, { pullSecrets: [source] });
  const labels = labelsFor(set);
  await createInjectedPod(t, kube, `${team}/web`, { labels });
  await createInjectedPod(t, kube, `${withPod}/web`, { labels, ...hold });
  await createInjectedPod(t, kube, `${withCopy}/web`, { labels });
  for (const namespace of [team, withPod, withCopy]) await untilPullSecret(kube, copyIn(namespace));
  await patchSecret(kube, copyIn(withCopy), { metadata: hold });
  const release = async () => {
    const body = { metadata: { finalizers: null } };
    await kube.patch(pods, at(`${withPod}/web`), { type: "merge", body });
    await patchSecret(kube, copyIn(withCopy), body);
  };

  let from = proxy.requests.length;
  const callsAbout = (namespace: string) =>
    proxy.requests.slice(from).flatMap(({ method, path, status }) => {
      return path.includes(`/namespaces/${namespace}`) ? [`${method} ${path}: ${status}`] : [];
    });
  const assertLeftAlone = () => {
    for (const namespace of [withPod, withCopy]) {
      const calls = callsAbout(namespace);
      assert.ok(calls.length < mostCalls, calls.join("\n"));
    }
  };
  let token = 0;
  const rotate = async () => {
    await setValues(kube, source, dockerConfig("robot", `token-${++token}`));
    await untilPullSecret(kube, copyIn(team), `token-${token}`);
  };
  const rotateOften = async () => {
    for (let round = 0; round < rounds; round++) await rotate();
  };

  for (const name of [withPod, withCopy]) await kube.delete(namespaceKind, { name });
  await untilMetadata(kube, copyIn(withCopy), "is going", ({ metadata }) => metadata.deletionTimestamp !== undefined);
  for (const name of [withPod, withCopy]) await untilStuck(kube, name);
  // Nothing else goes before the Pods, but it may be taken: then its Pod is there and its copy is not.
  await deleteSecret(kube, copyIn(withPod));

  await t.test("while the source changes again and again", async () => {
    await rotateOften();
    assertLeftAlone();
  });

  await t.test("while the Namespace itself changes", async () => {
    from = proxy.requests.length;
    for (const name of [withPod, withCopy]) {
      const body = { metadata: { labels: { "example.com/round": "1" } } };
      await kube.patch(namespaceKind, { name }, { type: "merge", body });
    }
    await rotateOften();
    assertLeftAlone();
  });

  await t.test("while the operator is started again", async () => {
    await operator.kill();
    from = proxy.requests.length;
    operator = await own.operator({ through: proxy });
    await rotateOften();
    assertLeftAlone();
  });

  await t.test("while the source is deleted and comes back", async () => {
    from = proxy.requests.length;
    const before = await theSecret(kube, copyIn(withCopy));
    await deleteSecret(kube, source);
    await untilGone(kube, secrets, at(copyIn(team)));
    await untilSetCondition(kube, set, "PullSecretsReady", { status: "False", reason: "SourceMissing" });
    await createPullSecret(kube, source, "again");
    await untilPullSecret(kube, copyIn(team), "again");
    await rotateOften();
    assertLeftAlone();
    assert.deepEqual(await theSecret(kube, copyIn(withCopy)), before);
  });

  await t.test("and served when it has come to its end and is there again", async () => {
    await release();
    for (const name of [withPod, withCopy]) {
      await untilGone(kube, namespaceKind, { name });
      await createNamespace(t, name);
      await createInjectedPod(t, kube, `${name}/web`, { labels });
      await untilPullSecret(kube, copyIn(name), `token-${token}`);
    }
  });
  await operator.stop();
});

/** The namespace controller has done what it can for now, and said so. */
async function untilStuck(kube: Kube, name: string): Promise<void> {
  type Reported = KubeObject & { readonly status?: { readonly conditions?: readonly object[] } };
  await until<Reported>(kube, namespaceKind, { name }, "is stuck", (found) => !!found?.status?.conditions?.length);
}
