import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { ApiProxy, Fault, Seen } from "../../src/testing/api-proxy.ts";
import { FanOut } from "../../src/testing/fan-out.ts";
import { ownPlane } from "../../src/testing/planes.ts";

let proxy: ApiProxy;
ownPlane(async (own) => {
  proxy = await own.proxy();
  await own.operator({ through: proxy });
});

const size = { syncs: 2, copies: 32 };
const copies = size.syncs * size.copies;
const busy: Fault = { kind: "answer", status: 429, reason: "TooManyRequests", retryAfterSeconds: 1 };
const away: Fault = { kind: "answer", status: 503, reason: "ServiceUnavailable" };
const conflict: Fault = { kind: "answer", status: 409, reason: "Conflict" };
const exists: Fault = { kind: "answer", status: 409, reason: "AlreadyExists" };

const storms: readonly { readonly name: string; readonly fault: (request: Seen) => Fault }[] = [
  { name: "429 with Retry-After", fault: () => busy },
  { name: "503", fault: () => away },
  { name: "409", fault: ({ method }) => (method === "POST" ? exists : conflict) },
  { name: "a connection that breaks before the request", fault: () => ({ kind: "cut" }) },
  { name: "a connection that breaks before the answer", fault: () => ({ kind: "lose" }) },
];

/** How many writes meet a fault before the storm is over. */
const gusts = Math.floor(copies / 4);

for (const { name, fault } of storms) {
  test(`${name} to every second write for a while: it converges, with a bounded number of requests`, async (t) => {
    const fanOut = await FanOut.prepare(t, size);
    const from = proxy.requests.length;
    const during = async (act: () => Promise<void>, settled: () => Promise<void>) => {
      let writes = 0;
      let left = gusts;
      const rule = proxy.fault((request) => {
        return request.isWrite && ++writes % 2 === 0 && left-- > 0 ? fault(request) : undefined;
      });
      await act();
      await settled();
      rule.lift();
      assert.equal(rule.hits.length, gusts);
    };
    await during(
      () => fanOut.begin(t),
      () => fanOut.settled("1"),
    );
    await during(
      () => fanOut.change("2"),
      () => fanOut.settled("2"),
    );
    await during(
      () => fanOut.remove(),
      () => fanOut.gone(),
    );
    // Without faults it is three writes for each copy, and a few for each SecretSync.
    const sent = proxy.requests.slice(from).filter(({ path }) => !path.includes("/leases")).length;

    assert.ok(sent < 10 * copies, `${sent} requests for ${copies} copies`);
  });
}

const walls = [
  { name: "429 with Retry-After", fault: busy },
  { name: "409", fault: conflict },
] as const;

for (const { name, fault } of walls) {
  test(`${name} to every write of a copy: no hot loop, and it converges when that ends`, async (t) => {
    const fanOut = await FanOut.prepare(t, size);
    await fanOut.begin(t);
    await fanOut.settled("1");
    const startedAt = performance.now();
    const rule = proxy.fault(({ isWrite, path }) =>
      isWrite && path.includes(`/namespaces/${fanOut.team}/secrets/`) ? fault : undefined,
    );
    await fanOut.change("2");
    await rule.reached(1);
    // Not a wait for a condition: how much is sent in a while is what this is about.
    await sleep(5_000);
    rule.lift();
    const seconds = (performance.now() - startedAt) / 1000;
    // Each pass may try a copy four times, and the passes come ever less often: a hot loop makes ten times as many.
    const most = copies * 4 * (4 + seconds);
    assert.ok(rule.hits.length < most, `${rule.hits.length} writes in ${seconds} s`);
    await fanOut.settled("2");
    await fanOut.remove();
    await fanOut.gone();
  });
}

test("watches that are told their place is forgotten read everything anew", async (t) => {
  const fanOut = await FanOut.prepare(t, { syncs: 1, copies: 8 });
  await fanOut.begin(t);
  await fanOut.settled("1");
  const expired: Fault = { kind: "answer", status: 410, reason: "Expired" };
  const resumes = ({ isWatch, path }: Seen) => isWatch && /[?&]resourceVersion=/.test(path);
  const held = proxy.fault(({ isWatch }) => (isWatch ? { kind: "hold" } : undefined));
  proxy.cut();
  await held.reached(3);
  // Nobody hears of this.
  await fanOut.change("2");
  const rule = proxy.fault((request) => (resumes(request) ? expired : undefined));
  held.discard();
  await fanOut.settled("2");
  rule.lift();
  assert.ok(rule.hits.length > 0);
  await fanOut.remove();
  await fanOut.gone();
});
