import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type KubeObject, secrets } from "../api/objects.ts";
import {
  answers,
  cannedServer,
  eventLine,
  listEnd,
  refuses,
  statusOf,
  streams,
  streamsAndEnds,
} from "../testing/canned-server.ts";
import { type CacheOptions, type Change, WatchCache } from "./cache.ts";
import type { Kube } from "./client.ts";
import { ApiError } from "./errors.ts";
import { DeafError, watchEvents } from "./watch.ts";

function secret(name: string, resourceVersion: number): KubeObject {
  const metadata = {
    namespace: "a",
    name,
    uid: `uid-${name}`,
    resourceVersion: String(resourceVersion),
    creationTimestamp: "",
  };
  return { metadata };
}

const added = (name: string, resourceVersion: number) => eventLine("ADDED", secret(name, resourceVersion));
const deleted = (name: string, resourceVersion: number) => eventLine("DELETED", secret(name, resourceVersion));

interface Following {
  readonly cache: WatchCache;
  /** `+name`, `-name` or `~name` for each change. */
  readonly told: readonly string[];
  /** Resolves when this was told. */
  until(change: string): Promise<void>;
}

function following(t: TestContext, options: Omit<CacheOptions<KubeObject>, "resource">): Following {
  const cache = new WatchCache({ resource: secrets, ...options });
  const told: string[] = [];
  const waiting = new Map<string, () => void>();
  cache.subscribe(({ before, after, key }: Change<KubeObject>) => {
    const change = `${before ? (after ? "~" : "-") : "+"}${key}`;
    told.push(change);
    waiting.get(change)?.();
  });
  cache.start();
  t.after(() => cache[Symbol.asyncDispose]());
  return {
    cache,
    told,
    until: (change) =>
      told.includes(change) ? Promise.resolve() : new Promise((resolve) => waiting.set(change, resolve)),
  };
}

async function errorOfWatch(kube: Kube, idleMs?: number): Promise<unknown> {
  try {
    for await (const _ of watchEvents(kube, secrets, {}, { signal: new AbortController().signal, idleMs }));
  } catch (error) {
    return error;
  }
  return undefined;
}

test("watchEvents: an ERROR event is the server's refusal", async (t) => {
  const { kube } = await cannedServer(t, streams(eventLine("ERROR", statusOf(410, "Expired"))));
  const error = await errorOfWatch(kube);
  assert.ok(error instanceof ApiError);
  assert.deepEqual([error.status, error.reason, error.message], [410, "Expired", "canned Expired"]);
});

test("watchEvents: a server that answers and then keeps silent is found out", async (t) => {
  const { kube } = await cannedServer(t, streams());
  assert.ok((await errorOfWatch(kube, 50)) instanceof DeafError);
});

test("watchEvents: a server that never answers is found out", async (t) => {
  const { kube } = await cannedServer(t, () => {});
  assert.ok((await errorOfWatch(kube, 50)) instanceof DeafError);
});

test("watchEvents: a line that is no event is not quoted", async (t) => {
  const { kube } = await cannedServer(t, streams('{"data":"canary"\n'));
  const error = await errorOfWatch(kube);
  assert.ok(error instanceof Error);
  assert.doesNotMatch(`${error.stack} ${String(error.cause)}`, /canary/);
});

test("watchEvents: giving up rejects with the caller's reason", async (t) => {
  const { kube } = await cannedServer(t, streams(added("x", 1)));
  const controller = new AbortController();
  await assert.rejects(async () => {
    for await (const _ of watchEvents(kube, secrets, {}, { signal: controller.signal }))
      controller.abort(new Error("enough"));
  }, /enough/);
});

test("WatchCache: a broken connection goes on where it was, without another list", async (t) => {
  const { kube, asked, breakConnections } = await cannedServer(
    t,
    streams(added("x", 5), listEnd(7), added("y", 8)),
    streamsAndEnds(deleted("x", 9)),
    streams(added("z", 10)),
  );
  const { told, until } = following(t, { kube });
  await until("+a/y");
  breakConnections();
  await until("+a/z");
  assert.deepEqual(told, ["+a/x", "+a/y", "-a/x", "+a/z"]);
  assert.deepEqual(
    asked.map((query) => [query.get("sendInitialEvents"), query.get("resourceVersion")]),
    [
      ["true", null],
      [null, "8"],
      [null, "9"],
    ],
  );
});

test("WatchCache: when the place is forgotten, the next list tells what was missed, deletions too", async (t) => {
  const { kube } = await cannedServer(
    t,
    streamsAndEnds(added("x", 5), added("y", 6), listEnd(7)),
    streams(eventLine("ERROR", statusOf(410, "Expired"))),
    streams(added("y", 6), added("z", 20), listEnd(21)),
  );
  const { cache, told, until } = following(t, { kube });
  await until("-a/x");
  assert.deepEqual([...told].sort(), ["+a/x", "+a/y", "+a/z", "-a/x"]);
  assert.deepEqual(cache.keys().sort(), ["a/y", "a/z"]);
});

test("WatchCache: a list that ends in the middle counts for nothing", async (t) => {
  const { kube } = await cannedServer(t, streamsAndEnds(added("x", 5)), streams(added("y", 6), listEnd(7)));
  const { cache, told } = following(t, { kube });
  await cache.synced();
  assert.deepEqual(told, ["+a/y"]);
});

test("WatchCache: what changes while the list is sent is in it", async (t) => {
  const { kube } = await cannedServer(t, streams(added("x", 5), added("y", 6), deleted("x", 7), listEnd(7)));
  const { cache } = following(t, { kube });
  await cache.synced();
  assert.deepEqual(cache.keys(), ["a/y"]);
});

test("WatchCache: a server without the streaming list is read page by page and watched from there", async (t) => {
  const { kube, asked } = await cannedServer(
    t,
    refuses(422, "Invalid"),
    answers({ metadata: { resourceVersion: "30", continue: "more" }, items: [secret("x", 5)] }),
    answers({ metadata: { resourceVersion: "30" }, items: [secret("y", 6)] }),
    streams(added("z", 31)),
  );
  const { cache, told, until } = following(t, { kube });
  await until("+a/z");
  assert.deepEqual(told, ["+a/x", "+a/y", "+a/z"]);
  assert.deepEqual([asked[2]?.get("continue"), asked[3]?.get("resourceVersion")], ["more", "30"]);
  assert.equal(cache.health.failing, undefined);
});

for (const [code, reason] of [
  [403, "Forbidden"],
  [404, "NotFound"],
  [429, "TooManyRequests"],
] as const) {
  test(`WatchCache: ${code} is waited out`, async (t) => {
    const { kube } = await cannedServer(
      t,
      refuses(code, reason),
      refuses(code, reason),
      streams(added("x", 5), listEnd(7)),
    );
    const { cache } = following(t, { kube });
    await cache.synced();
    assert.deepEqual(cache.keys(), ["a/x"]);
    assert.equal(cache.health.failing, undefined);
  });
}

test("WatchCache: what is wrong is in its health", async (t) => {
  const { kube } = await cannedServer(t, refuses(403, "Forbidden"));
  const warned = Promise.withResolvers<void>();
  const quiet = { debug() {}, info() {}, warn: () => warned.resolve(), error() {}, with: () => quiet };
  const { cache } = following(t, { kube, log: quiet });
  await warned.promise;
  // Said before it is noted, in one go.
  await new Promise(setImmediate);
  assert.match(cache.health.failing?.error.message ?? "", /canned Forbidden/);
  assert.equal(cache.isSynced, false);
});

test("WatchCache: a server gone silent is left, and what it did meanwhile is heard from the next connection", async (t) => {
  let watches = 0;
  // By what is asked, not in turn: on a slow machine any of these may be taken for silent, and is asked for again.
  const { kube } = await cannedServer(t, (response, query) => {
    if (query.has("sendInitialEvents")) return streams(added("x", 5), listEnd(7))(response, query);
    watches += 1;
    return (watches === 1 ? streams() : streams(added("y", 8)))(response, query);
  });
  const { told, until } = following(t, { kube, idleMs: 500 });
  await until("+a/y");
  assert.deepEqual(told, ["+a/x", "+a/y"]);
});

test("WatchCache: neither a listener, a transform nor an index that throws stops the others", async (t) => {
  const { kube } = await cannedServer(
    t,
    streams(added("bad", 5), added("x", 6), listEnd(7), added("worse", 8), added("y", 9)),
  );
  const fails = (name: string) => (object: KubeObject) => {
    if (object.metadata.name === name) throw new Error("as planned");
    return object;
  };
  const { cache, until } = following(t, {
    kube,
    transform: fails("bad"),
    indexes: { name: (object) => [fails("worse")(object).metadata.name] },
  });
  cache.subscribe(() => {
    throw new Error("as planned");
  });
  await until("+a/y");
  assert.deepEqual(cache.keys(), ["a/x", "a/y"]);
  assert.equal(cache.by("name", "x").length, 1);
});

test("WatchCache: a state that is known already is not shaped again, be it the echo of an own write or listed anew", async (t) => {
  const { kube, breakConnections } = await cannedServer(
    t,
    streams(added("one", 1), listEnd(1)),
    streams(eventLine("MODIFIED", secret("one", 2)), added("two", 3)),
    streams(eventLine("ERROR", statusOf(410, "Expired"))),
    streams(eventLine("ADDED", secret("one", 2)), added("two", 3), added("three", 4), listEnd(4)),
  );
  const shaped: string[] = [];
  const transform = (object: KubeObject) => {
    shaped.push(`${object.metadata.name} ${object.metadata.resourceVersion}`);
    return object;
  };
  const { cache, until } = following(t, { kube, transform });
  await cache.synced();
  cache.absorb(secret("one", 2));
  const known = cache.get("a/one");
  breakConnections();
  await until("+a/two");
  breakConnections();
  await until("+a/three");
  assert.deepEqual(shaped, ["one 1", "one 2", "two 3", "three 4"]);
  assert.equal(cache.get("a/one"), known);
});

test("WatchCache: a write that fails tells what waited for it, and throws on", async (t) => {
  const { kube } = await cannedServer(t, streams(added("x", 5), listEnd(7), added("y", 8), added("z", 9)));
  const { cache, told, until } = following(t, { kube });
  await assert.rejects(
    cache.writing("a/y", async () => {
      await until("+a/z");
      assert.equal(cache.has("a/y"), false, "it waits");
      throw new Error("no");
    }),
    /no/,
  );
  assert.deepEqual(told, ["+a/x", "+a/z", "+a/y"]);
});

test("WatchCache: waiting for the first list ends with the caller's patience, or with the cache", async (t) => {
  const { kube } = await cannedServer(t, streams());
  const cache = new WatchCache({ kube, resource: secrets });
  cache.start();
  const controller = new AbortController();
  const impatient = assert.rejects(cache.synced({ signal: controller.signal }), /enough/);
  controller.abort(new Error("enough"));
  await impatient;
  const patient = assert.rejects(cache.synced(), /closed before its first list/);
  await cache[Symbol.asyncDispose]();
  await patient;
});
