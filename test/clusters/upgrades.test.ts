import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Kube } from "../../src/kube/client.ts";
import { loadConnection } from "../../src/kube/kubeconfig.ts";
import { ApiProxy } from "../../src/testing/api-proxy.ts";
import { testNamespaces } from "../../src/testing/cluster.ts";
import { EventsOf } from "../../src/testing/events.ts";
import {
  bindingObject,
  bindings,
  changeCluster,
  createSources,
  policies,
  policyObject,
  references,
  through,
  untilGiven,
  untilListed,
} from "../../src/testing/injection.ts";
import { patchSecret } from "../../src/testing/secrets.ts";
import { literalName } from "../../src/testing/sidecars.ts";
import { type Cluster, clusters, serveCluster, untilCluster } from "../../src/testing/user-clusters.ts";
import { until } from "../../src/testing/wait.ts";
import { ensureBinaries, linkBinaries } from "../../tools/local/binaries.ts";
import { startControlPlane } from "../../tools/local/control-plane.ts";
import { userClusterKubeconfig } from "../../tools/local/user-cluster.ts";

/** What makes an API server one of that version. */
const versions = {
  older: "--emulated-version=1.33",
  newer: "--runtime-config=admissionregistration.k8s.io/v1beta1=true",
} as const;
type Version = keyof typeof versions;

/** A user cluster whose API server can be started anew as one of another version. */
async function changingCluster(first: Version) {
  const { "kube-apiserver": server, ...others } = await ensureBinaries([
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kubectl",
  ]);
  const dir = mkdtempSync(join(tmpdir(), "latchkey-upgrade-"));
  const flags = join(dir, "flags");
  const choose = (version: Version) => writeFileSync(flags, versions[version]);
  choose(first);
  writeFileSync(join(linkBinaries(others, dir), "kube-apiserver"), `#!/bin/sh\nexec ${server} "$@" $(cat ${flags})\n`, {
    mode: 0o755,
  });
  const plane = await startControlPlane({
    env: { ...process.env, KUBEBUILDER_ASSETS: dir },
    featureGates: { WatchList: true },
    auditLog: true,
  });
  const kube = new Kube(await loadConnection({ kubeconfig: plane.kubeconfig, env: {} }));
  return {
    ...{ kube, kubeconfig: await userClusterKubeconfig(plane), plane: { server: plane.server, ca: plane.admin.ca } },
    async become(version: Version, { downMs = 0 } = {}) {
      const { apiserver } = plane.components;
      await apiserver.stop();
      choose(version);
      await sleep(downMs);
      await apiserver.start();
    },
    async stop() {
      await kube[Symbol.asyncDispose]();
      await plane.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** What it calls itself now is what the Cluster tells. */
async function untilVersion(user: { readonly kube: Kube }, kube: Kube, name: string): Promise<void> {
  const { gitVersion } = (await user.kube.request("GET", "/version")) as { readonly gitVersion: string };
  const isTold = (seen: Cluster | undefined) => seen?.status?.serverVersion === gitVersion;
  await until<Cluster>(kube, clusters, { name }, `is of version ${gitVersion}`, isTold);
}

test("with an API server that comes to have policies, or has them no longer, the mode changes", async (t) => {
  const user = await changingCluster("older");
  const { kube, namespaces } = await testNamespaces(t, 1);
  const sources = await createSources(kube, namespaces[0], "quay", "hub");
  const { cluster } = await serveCluster(t, { user, references: sources });
  t.after(() => user.stop());
  const { name } = cluster.metadata;
  const given = sources.map(literalName);
  const told = new EventsOf(t, kube, cluster);
  const untilMode = (mode: string) =>
    untilCluster(kube, name, "Ready", { status: "True", message: new RegExp(`mode ${mode}$`) });

  await untilMode("ServiceAccount");
  await untilVersion(user, kube, name);
  await untilListed(user.kube, "default/default", given);
  await user.become("newer", { downMs: 12_000 });
  await untilMode("Policy");
  await untilListed(user.kube, "default/default", []);
  await untilGiven(user.kube, "default", given);

  await user.become("older");
  await untilMode("ServiceAccount");
  await untilVersion(user, kube, name);
  await untilListed(user.kube, "default/default", given);
  await changeCluster(kube, cluster, references(...sources.toReversed()));
  await untilListed(user.kube, "default/default", given.toReversed());

  // What was there before the policies were hidden has other names.
  await user.become("newer");
  await untilMode("Policy");
  await untilGiven(user.kube, "default", given.toReversed());
  await untilListed(user.kube, "default/default", []);
  const changes = told.inShort.filter((each) => each.includes("InjectionModeChanged"));
  assert.deepEqual(changes, Array(3).fill("Normal InjectionModeChanged"));

  await changeCluster(kube, cluster, { injection: { mode: "Policy" } });
  await untilMode("Policy");
  await user.become("older");
  await untilCluster(kube, name, "Injection", { status: "False", reason: "ModeNotAvailable" });
  await untilListed(user.kube, "default/default", []);
});

test("policies of a beta version do as well, and go on as they are when there is a better one", async (t) => {
  const user = await changingCluster("newer");
  const proxy = await ApiProxy.start(user.plane);
  // An API server that really has no other version of them would have to be an older program.
  const hidden = proxy.fault(({ path }) =>
    /^\/apis\/admissionregistration.k8s.io\/v1($|[/?])/.test(path)
      ? { kind: "answer", status: 404, reason: "" }
      : undefined,
  );
  const { kube, namespaces } = await testNamespaces(t, 1);
  const sources = await createSources(kube, namespaces[0], "quay", "hub");
  const via = { kubeconfig: through(proxy, user) };
  const { cluster, namespace: home } = await serveCluster(t, { user: via, references: sources });
  t.after(() => proxy[Symbol.asyncDispose]());
  t.after(() => user.stop());
  const { name } = cluster.metadata;
  const given = sources.map(literalName);
  const told = new EventsOf(t, kube, cluster);
  await untilCluster(kube, name, "Ready", { status: "True", message: /mode Policy$/ });
  await untilGiven(user.kube, "default", given);
  const before = await user.kube.get(policies, policyObject.ref);
  const deleted = async () => {
    await user.kube.delete(bindingObject.resource, bindingObject.ref);
    await until(user.kube, bindingObject.resource, bindingObject.ref, "is restored", (found) => found !== undefined);
    return proxy.requests.filter(({ method, path }) => method === "POST" && path.includes(bindings.plural)).at(-1)
      ?.path;
  };
  assert.match((await deleted()) ?? "", /v1beta1/);

  hidden.lift();
  const seen = proxy.requests.length;
  // Whoever touches the kubeconfig has it connect anew.
  await patchSecret(kube, `${home}/${name}-kubeconfig`, { metadata: { labels: { touched: "yes" } } });
  const isFollowed = () =>
    proxy.requests.slice(seen).some(({ path, isWatch }) => isWatch && path.includes("/v1/mutating"));
  for (const signal = AbortSignal.timeout(60_000); !isFollowed(); ) await sleep(50, undefined, { signal });
  assert.match((await deleted()) ?? "", /io\/v1\//);
  assert.deepEqual(await user.kube.get(policies, policyObject.ref), before, "nothing else was written");
  assert.ok(!told.inShort.some((each) => each.includes("InjectionModeChanged")));
});
