import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { ApiProxy, Seen } from "../../src/testing/api-proxy.ts";
import {
  changeCluster,
  copiesOf,
  createCluster,
  createKubeconfig,
  createSource,
  injectionIn,
  proxyTo,
  uidsOf,
  untilInjectionIn,
} from "../../src/testing/cluster-scenes.ts";
import { EventsOf } from "../../src/testing/events.ts";
import { untilGiven, untilListed } from "../../src/testing/injection.ts";
import { at } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { setValues } from "../../src/testing/secrets.ts";
import { untilEvent } from "../../src/testing/served-clusters.ts";
import { dockerConfig, literalName, untilPullSecret } from "../../src/testing/sidecars.ts";
import { type UserCluster, untilCluster, userCluster } from "../../src/testing/user-clusters.ts";
import { ask } from "../../tools/local/http.ts";
import type { Operator } from "../../tools/local/operator.ts";

const user = userCluster();
const other = userCluster();
let operator: Operator;
const own = ownPlane(async (plane) => {
  operator = await plane.operator();
});

async function serve(t: TestContext, where: UserCluster, source: string, prepare?: (proxy: ApiProxy) => void) {
  const kube = await own.kube;
  const { proxy, kubeconfig } = await proxyTo(where);
  prepare?.(proxy);
  const secret = await createKubeconfig(kube, kubeconfig);
  const cluster = await createCluster(t, kube, { references: [source], kubeconfig: secret });
  const { name } = cluster.metadata;
  await untilCluster(kube, name, "Ready", { status: "True" });
  return { proxy, name, cluster, told: new EventsOf(t, kube, cluster) };
}

async function assertHealthy(): Promise<void> {
  for (const path of ["/healthz", "/readyz"]) {
    const { status, body } = await ask(`${operator.metricsUrl}${path}`);
    assert.equal(status, 200, `${path}: ${body}`);
  }
}

test("a cluster that is dead keeps the process healthy, the others served, and a restart quick", async (t) => {
  const kube = await own.kube;
  const source = await createSource(t, kube);
  const name = literalName(source);
  const dead = await serve(t, user, source);
  const alive = await serve(t, other, source);
  const silence = dead.proxy.fault(() => ({ kind: "hold" }));
  dead.proxy.deafen();
  await setValues(kube, source, dockerConfig("robot", "two"));
  await untilPullSecret(other.kube, `kube-system/${name}`, "two");
  await untilCluster(kube, dead.name, "Reachable", { status: "False", reason: "Unreachable", message: /timed out/ });
  await assertHealthy();

  await operator.stop();
  operator = await own.operator();
  await assertHealthy();
  await setValues(kube, source, dockerConfig("robot", "three"));
  await untilPullSecret(other.kube, `kube-system/${name}`, "three");
  await untilCluster(kube, alive.name, "Ready", { status: "True" });
  // So long that it is tried at least once more.
  await sleep(15_000);
  await assertHealthy();
  silence.discard();
  await untilPullSecret(user.kube, `kube-system/${name}`, "three");
  await untilCluster(kube, dead.name, "Ready", { status: "True" });
});

for (const moment of ["while it is idle", "in the middle of a rotation", "when it has been given up"] as const) {
  test(`a cluster that does not answer does not keep the process from ending, ${moment}`, async (t) => {
    const kube = await own.kube;
    const source = await createSource(t, kube);
    const { proxy, name } = await serve(t, user, source);
    const silence = proxy.fault(() => ({ kind: "hold" }));
    proxy.deafen();
    if (moment === "in the middle of a rotation") {
      await setValues(kube, source, dockerConfig("robot", "two"));
      await silence.reached(1);
    }
    if (moment === "when it has been given up") await untilCluster(kube, name, "Reachable", { status: "False" });
    const beganMs = performance.now();
    await operator.stop();
    const tookMs = performance.now() - beganMs;
    assert.deepEqual(operator.ending, { code: 0 });
    t.diagnostic(`it ended after ${Math.round(tookMs)} ms`);
    assert.ok(tookMs < 15_000, `it took ${tookMs} ms`);
    silence.discard();
    operator = await own.operator();
    await untilCluster(kube, name, "Ready", { status: "True" });
  });
}

const isDiscovery = ({ path }: Seen) => /^\/apis\/admissionregistration\.k8s\.io\/v1(beta1)?(\?|$)/.test(path);
const isAboutPolicies = (seen: Seen) => isDiscovery(seen) || /mutatingadmissionpolic/.test(seen.path);
const notFound = { kind: "answer", status: 404, reason: "NotFound" } as const;

test("a server that learns of policies, and one that forgets them: the mode changes on reconnect, and the copies stay", async (t) => {
  const kube = await own.kube;
  const source = await createSource(t, kube);
  const name = literalName(source);
  let hasPolicies = false;
  const {
    proxy,
    name: cluster,
    told,
  } = await serve(t, user, source, (each) => {
    each.fault((request) => (!hasPolicies && isAboutPolicies(request) ? notFound : undefined));
  });
  await untilListed(user.kube, "default/default", [name]);
  assert.deepEqual((await injectionIn(user.kube)).includes("policy"), false);
  const before = uidsOf(await copiesOf(user.kube, source));
  const restart = async () => {
    const down = proxy.fault(() => ({ kind: "cut" }));
    proxy.cut();
    await untilCluster(kube, cluster, "Reachable", { status: "False", reason: "Unreachable" });
    hasPolicies = !hasPolicies;
    down.lift();
    await untilCluster(kube, cluster, "Ready", { status: "True" });
  };

  await restart();
  await untilInjectionIn(user.kube, ["policy", "binding", "record"]);
  await untilListed(user.kube, "default/default", []);
  await untilGiven(user.kube, "default", [name]);
  await untilCluster(kube, cluster, "Injection", { status: "True", message: "mode Policy" });
  await untilEvent(told, "Normal InjectionModeChanged");

  await restart();
  await untilListed(user.kube, "default/default", [name]);
  await untilCluster(kube, cluster, "Injection", { status: "True", message: "mode ServiceAccount" });
  assert.deepEqual(uidsOf(await copiesOf(user.kube, source)), before);
});

test("references that change together with the kubeconfig go to the new cluster alone", async (t) => {
  const kube = await own.kube;
  const [before, after] = [await createSource(t, kube), await createSource(t, kube)];
  const { cluster, name } = await serve(t, user, before);
  const from = await user.position();
  const kubeconfig = await createKubeconfig(kube, other.kubeconfig);
  await changeCluster(kube, cluster, { imagePullSecrets: [at(after)], kubeconfigSecretRef: at(kubeconfig) });
  await untilPullSecret(other.kube, `kube-system/${literalName(after)}`, "one");
  await untilCluster(kube, name, "Ready", { status: "True" });
  assert.deepEqual(await user.writes({ from }), []);
  assert.equal((await copiesOf(user.kube, after)).size, 0);
  assert.ok((await copiesOf(user.kube, before)).size > 0, "the former cluster is left as it is");
});
