import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { secrets } from "../../src/api/objects.ts";
import type { ApiProxy, Seen } from "../../src/testing/api-proxy.ts";
import { auditPosition, operatorWrites } from "../../src/testing/audit.ts";
import { createCluster, createKubeconfig, createSource, proxyTo } from "../../src/testing/cluster-scenes.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import {
  type ClusterSpec,
  dockerSecret,
  type UserCluster,
  untilCluster,
  userCluster,
} from "../../src/testing/user-clusters.ts";

const user = userCluster();
const old = userCluster({ emulatedVersion: "1.33" });
const none = userCluster();
const own = ownPlane(async (plane) => void (await plane.operator()));

/** What it follows, wherever it takes up again. */
const watched = ({ path }: Seen): string => {
  const { pathname, searchParams } = new URL(path, "https://proxy");
  return `${pathname} ${searchParams.get("labelSelector") ?? ""} ${searchParams.get("fieldSelector") ?? ""}`;
};

async function serve(t: TestContext, where: UserCluster, references: readonly string[], spec: ClusterSpec = {}) {
  const kube = await own.kube;
  const { proxy, kubeconfig } = await proxyTo(where);
  const secret = await createKubeconfig(kube, kubeconfig);
  const { metadata } = await createCluster(t, kube, { references, spec, kubeconfig: secret });
  await untilCluster(kube, metadata.name, "Ready", { status: "True" });
  return { proxy, name: metadata.name };
}

const since = ({ requests }: ApiProxy, from: number): readonly Seen[] => requests.slice(from);

test("a cluster where nothing happens costs no write, 12 requests a minute and 6 watches at most", async (t) => {
  const kube = await own.kube;
  const sources = [await createSource(t, kube), await createSource(t, kube)];
  await createCluster(t, kube, { references: sources, spec: { home: true } });
  const served = {
    Policy: await serve(t, user, sources),
    ServiceAccount: await serve(t, old, sources),
    None: await serve(t, none, sources, { injection: { mode: "None" } }),
  };
  // Secrets of others are none of anybody's business.
  for (const { kube: each } of [user, old, none]) await each.create(secrets, dockerSecret("default/theirs"));
  // What is left to do after a first pass: the check of the copies' content, a status.
  await sleep(10_000);

  const home = await auditPosition(kube, "default");
  const at = [await user.position(), await old.position(), await none.position()] as const;
  const from = Object.values(served).map(({ proxy }) => proxy.requests.length);
  await sleep(60_000);
  assert.deepEqual(await operatorWrites(kube, "default", { from: home }), []);
  for (const [index, where] of [user, old, none].entries()) {
    assert.deepEqual(await where.writes({ from: at[index] ?? 0 }), []);
  }
  for (const [index, [mode, { proxy }]] of Object.entries(served).entries()) {
    const requests = since(proxy, from[index] ?? 0);
    const paths = requests.map(({ method, path }) => `${method} ${path}`);
    t.diagnostic(`mode ${mode}: ${requests.length} requests in a minute`);
    assert.ok(requests.length <= 12, `mode ${mode}: ${paths.join("\n")}`);
    assert.deepEqual(
      requests.filter(({ isWrite }) => isWrite),
      [],
    );
    const watches = new Set(proxy.requests.filter(({ isWatch }) => isWatch).map(watched));
    t.diagnostic(`mode ${mode}: ${watches.size} watches`);
    assert.ok(watches.size <= 6, `mode ${mode}: ${[...watches].join("\n")}`);
  }
});
