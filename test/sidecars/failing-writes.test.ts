import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiProxy } from "../../src/testing/api-proxy.ts";
import { testNamespaces } from "../../src/testing/cluster.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import {
  createInjectedPod,
  createPullSecret,
  createSidecarSet,
  labelsFor,
  literalName,
  untilPullSecret,
  untilSetCondition,
} from "../../src/testing/sidecars.ts";

let proxy: ApiProxy;
ownPlane(async (plane) => {
  proxy = await plane.proxy();
  await plane.operator({ through: proxy });
});

/** As if a webhook for Secrets were registered whose server is away. */
const failed = { kind: "answer", status: 500, reason: "InternalError" } as const;

test("a copy that fails for reasons of others is told, and made once it can be", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 3);
  const [vault, team, other] = namespaces;
  const source = `${vault}/pull`;
  await createPullSecret(kube, source);
  const set = await createSidecarSet(t, kube, { pullSecrets: [source] });
  await createInjectedPod(t, kube, `${other}/web`, { labels: labelsFor(set) });
  const rule = proxy.fault(({ isWrite, path }) =>
    isWrite && path.includes(`/namespaces/${team}/secrets`) ? failed : undefined,
  );
  t.after(() => rule.lift());
  await createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) });
  const told = await untilSetCondition(kube, set, "PullSecretsReady", { status: "False", reason: "CopyRefused" });
  const condition = told.status?.conditions?.find(({ type }) => type === "PullSecretsReady");
  assert.match(condition?.message ?? "", new RegExp(`${team}: `));
  assert.equal(told.status?.pullSecrets, "0/1");
  await untilPullSecret(kube, `${other}/${literalName(source)}`);

  rule.lift();
  await untilPullSecret(kube, `${team}/${literalName(source)}`);
  await untilSetCondition(kube, set, "Ready", { status: "True", message: /^2 Pods in 2 namespaces, 2 copies$/ });
});
