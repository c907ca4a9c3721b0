import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../kube/log.ts";
import { answers, cannedServer, refuses } from "../testing/canned-server.ts";
import { Election, leadingWithin } from "./lease.ts";
import { leaseName } from "./lease-move.ts";

test("a leader whose lease was deleted stands by at once: another may create it", async (t) => {
  const metadata = { namespace: "a", name: leaseName, uid: "u", resourceVersion: "1", creationTimestamp: "" };
  const created = answers({ metadata, spec: { holderIdentity: "me" } }, 201);
  const { kube, asked } = await cannedServer(t, refuses(404, "NotFound"), created, refuses(404, "NotFound"));
  const log = createLog({ level: "error", format: "json" });
  await using election = new Election({ kube, namespace: "a", name: leaseName, identity: "me", log, enabled: true });
  const told: string[] = [];
  const { promise: standsBy, resolve } = Promise.withResolvers<void>();
  election.onChange((isLeader) => {
    told.push(`${isLeader ? "leads" : "stands by"} after ${asked.length} requests`);
    if (!isLeader) resolve();
  });
  election.start();
  await standsBy;
  // Read, create; then the renewal that found it gone.
  assert.deepEqual(told, ["leads after 2 requests", "stands by after 3 requests"]);
});

test("a leader that ends while its lease is being renewed hands it over nevertheless", async (t) => {
  const metadata = { namespace: "a", name: leaseName, uid: "u", resourceVersion: "1", creationTimestamp: "" };
  const written = answers({ metadata, spec: { holderIdentity: "me" } });
  const renewing = Promise.withResolvers<() => void>();
  const { kube, asked } = await cannedServer(
    t,
    refuses(404, "NotFound"),
    written,
    (response, query) => renewing.resolve(() => written(response, query)),
    written,
  );
  const log = createLog({ level: "error", format: "json" });
  const election = new Election({ kube, namespace: "a", name: leaseName, identity: "me", log, enabled: true });
  election.start();
  const answer = await renewing.promise;
  const ended = election[Symbol.asyncDispose]();
  answer();
  await ended;
  assert.equal(asked.length, 4, "read, create, renew, release");
  assert.equal(election.isLeader(), false);
});

test("leading within a signal: it ends with either, and is told of once it has ended", () => {
  const listeners = new Set<(isLeader: boolean) => void>();
  const over = new AbortController();
  let isLeader = true;
  const change = (leads: boolean) => {
    isLeader = leads;
    for (const listener of listeners) listener(leads);
  };
  const election = {
    isLeader: () => isLeader,
    onChange(listener: (leads: boolean) => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const within = leadingWithin(election, over.signal);
  const told: boolean[] = [];
  const stop = within.onChange((leads) => told.push(leads));
  assert.equal(within.isLeader(), true);
  change(false);
  assert.equal(within.isLeader(), false);
  change(true);
  assert.equal(within.isLeader(), true);
  over.abort();
  assert.equal(within.isLeader(), false);
  change(true);
  assert.equal(within.isLeader(), false);
  stop();
  assert.equal(listeners.size, 0);
  assert.deepEqual(told, [false, true, false, false]);
});
