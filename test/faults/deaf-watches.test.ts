import assert from "node:assert/strict";
import { test } from "node:test";
import { FanOut } from "../../src/testing/fan-out.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { deleteSecret, setValues } from "../../src/testing/secrets.ts";
import { changeSync } from "../../src/testing/syncs.ts";

const own = ownPlane();

/** Takes as long as the longest silence the operator bears, a minute and a half, and next to no work. */
test("connections that go silent without closing are given up, and what happened meanwhile is served", async (t) => {
  const proxy = await own.proxy();
  const operator = await own.operator({ through: proxy });
  const fanOut = await FanOut.prepare(t, { syncs: 2, copies: 8 });
  await fanOut.begin(t);
  await fanOut.settled("1");

  const from = proxy.requests.length;
  proxy.deafen();
  await fanOut.change("2");
  await setValues(fanOut.kube, `${fanOut.team}/db-0-0`, { v: "by hand" });
  await deleteSecret(fanOut.kube, `${fanOut.team}/db-1-0`);
  await fanOut.settled("2");
  assert.equal(operator.ending, undefined);
  const reopened = proxy.requests.slice(from).filter(({ isWatch }) => isWatch);
  assert.ok(reopened.length >= 3, `${reopened.length} watches were opened anew`);

  const [sync] = fanOut.syncs;
  assert.ok(sync);
  await changeSync(fanOut.kube, sync, { metadata: { annotations: { woken: "yes" } } });
  await fanOut.change("3");
  await fanOut.settled("3");
  await fanOut.remove();
  await fanOut.gone();
});
