import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { FanOut, untilSecrets } from "../../src/testing/fan-out.ts";
import { sampleIn } from "../../src/testing/metrics.ts";
import { base64 } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { deleteSecret, setValues } from "../../src/testing/secrets.ts";
import { ask } from "../../tools/local/http.ts";
import type { Operator } from "../../tools/local/operator.ts";

const own = ownPlane();

async function untilReadyz(operator: Operator, isWanted: (status: number) => boolean): Promise<void> {
  for (const deadline = performance.now() + 60_000; ; await sleep(250)) {
    const { status } = await ask(`${operator.metricsUrl}/readyz`);
    if (isWanted(status)) return;
    if (performance.now() > deadline) throw new Error(`/readyz is still ${status} after a minute`);
  }
}

/** The fan-out has begun: some copies hold the value. */
const begun = ({ kube, team }: FanOut, v: string) =>
  untilSecrets(kube, team, `one holds ${v}`, (all) => all.values().some(({ data }) => data?.v === base64(v)));

test("kube-apiserver and etcd crash while changes are under way: it stays, says so, and converges", async (t) => {
  const { apiserver, etcd } = own.plane.components;
  const operator = await own.operator();
  const fanOut = await FanOut.prepare(t);
  await fanOut.begin(t);
  await fanOut.settled("1");

  await t.test("kube-apiserver", async () => {
    await fanOut.change("2");
    await begun(fanOut, "2");
    await apiserver.kill();
    await untilReadyz(operator, (status) => status !== 200);
    assert.equal(operator.ending, undefined);
    assert.equal((await ask(`${operator.metricsUrl}/healthz`)).status, 200, "a restart would not help");
    await apiserver.start();
    await untilReadyz(operator, (status) => status === 200);
    await fanOut.settled("2");
  });

  await t.test("etcd", async () => {
    await fanOut.change("3");
    await begun(fanOut, "3");
    await etcd.kill();
    await etcd.start();
    await fanOut.settled("3");
  });

  await t.test("both", async () => {
    await fanOut.change("4");
    await begun(fanOut, "4");
    await Promise.all([apiserver.kill(), etcd.kill()]);
    await etcd.start();
    await apiserver.start();
    await fanOut.settled("4");
    await fanOut.change("5");
    await fanOut.settled("5");
  });

  assert.equal(operator.ending, undefined);
  await fanOut.remove();
  await fanOut.gone();
  await operator.stop();
  assert.deepEqual(operator.ending, { code: 0 });
});

test("a kube-apiserver that has forgotten where the watches were: everything is read anew", async (t) => {
  const { apiserver } = own.plane.components;
  const proxy = await own.proxy();
  const operator = await own.operator({ through: proxy });
  const fanOut = await FanOut.prepare(t, { syncs: 1, copies: 8 });
  await fanOut.begin(t);
  await fanOut.settled("1");
  const listsBefore = await listsOf(operator);

  const held = proxy.fault(({ isWatch }) => (isWatch ? { kind: "hold" } : undefined));
  proxy.cut();
  await held.reached(3);
  // Nobody hears of these, and the restarted API server remembers nothing of them.
  await setValues(fanOut.kube, `${fanOut.team}/db-0-0`, { v: "by hand" });
  await deleteSecret(fanOut.kube, `${fanOut.team}/db-0-1`);
  await apiserver.restart();
  await setValues(fanOut.kube, `${fanOut.team}/db-0-2`, { v: "by hand" });
  held.discard();

  await fanOut.settled("1");
  await fanOut.change("2");
  await fanOut.settled("2");
  assert.ok((await listsOf(operator)) > listsBefore, "it was read anew");
  await fanOut.remove();
  await fanOut.gone();
  await operator.stop();
});

async function listsOf({ metricsUrl }: Operator): Promise<number> {
  const { body } = await ask(`${metricsUrl}/metrics`);
  return sampleIn(body, "latchkey_cache_lists_total") ?? 0;
}
