import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { fieldManager } from "../api/marks.ts";
import { type Secret, secrets } from "../api/objects.ts";
import type { Kube } from "../kube/client.ts";
import { createLog } from "../kube/log.ts";
import { marksOf } from "../ownership/marks.ts";
import { testNamespaces, uniqueName } from "../testing/cluster.ts";
import { at, encoded } from "../testing/objects.ts";
import { inspectCopies, nextPageSize, startInspection } from "./inspection.ts";
import { openReplication, type Replication } from "./replication.ts";

const log = createLog({ level: "error", format: "text" });
const data = encoded({ password: "1" });

/** Copies of nobody in particular, as an operator has left them; a wrong fingerprint where content was edited since. */
async function leftBehind(t: TestContext, names: readonly string[]) {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [namespace] = namespaces;
  const replication = await openReplication({ kube, namespace, log });
  t.after(() => replication[Symbol.asyncDispose]());
  const owner = { uid: uniqueName("owner"), title: "Installation" };
  const source = { namespace: "vault", name: "db" };
  for (const name of names) {
    const marks = marksOf(owner, { namespace, name }, source, replication.fingerprint("Opaque", data));
    await kube.create<Secret>(secrets, { metadata: { namespace, name, ...marks }, data });
  }
  return { kube, replication, keys: names.map((name) => `${namespace}/${name}`) };
}

const editAsOurselves = (kube: Kube, key: string) =>
  kube.patch(secrets, at(key), { type: "merge", body: { data: encoded({ password: "2" }) } }, { fieldManager });

async function watching({ caches, copies }: Replication): Promise<void> {
  for (const cache of caches) cache.start();
  await copies.synced();
}

test("copies edited under our own name while nobody watched are found, and no others", async (t) => {
  const names = Array.from({ length: 25 }, (_, index) => `copy-${index}`);
  const { kube, replication, keys } = await leftBehind(t, names);
  const edited = [keys[3]!, keys[20]!];
  for (const key of edited) await editAsOurselves(kube, key);
  await watching(replication);
  assert.deepEqual(
    keys.filter((key) => replication.suspects.has(key)),
    [],
    "their metadata does not tell",
  );

  const told: string[] = [];
  replication.suspects.onFound((key) => told.push(key));
  await inspectCopies(replication, kube, {});
  assert.deepEqual(told.filter((key) => keys.includes(key)).sort(), edited.sort());
  assert.deepEqual(keys.filter((key) => replication.suspects.has(key)).sort(), edited.sort());
});

test("only a leader inspects, and at once when it comes to lead", async (t) => {
  const { kube, replication, keys } = await leftBehind(t, ["copy"]);
  const [copy = ""] = keys;
  await editAsOurselves(kube, copy);
  await watching(replication);
  const found = new Promise<void>((resolve) => {
    replication.suspects.onFound((key) => {
      if (key === copy) resolve();
    });
  });
  let turn: (isLeader: boolean) => void = () => {};
  const election = {
    isLeader: () => false,
    onChange(listener: typeof turn) {
      turn = listener;
      return () => {};
    },
  };
  const signal = new AbortController().signal;
  await using _inspection = startInspection(replication, { kube, election, log, signal });
  assert.equal(replication.suspects.has(copy), false);
  turn(true);
  await found;
});

const secretsOf = (count: number, bytes: number): Secret[] =>
  Array.from({ length: count }, () => ({
    metadata: { name: "c", uid: "", resourceVersion: "", creationTimestamp: "" },
    data: { a: "x".repeat(bytes) },
  }));
const pages = [
  { name: "small copies: pages grow", size: 10, page: secretsOf(10, 2_000), next: 40 },
  { name: "up to a limit", size: 400, page: secretsOf(10, 20), next: 500 },
  { name: "large copies: a page stays within bounds", size: 40, page: secretsOf(2, 1_000_000), next: 8 },
  { name: "copies without data", size: 40, page: secretsOf(40, 0), next: 160 },
  { name: "an empty page", size: 40, page: [], next: 1 },
];
for (const { name, size, page, next } of pages) {
  test(`nextPageSize: ${name}`, () => assert.equal(nextPageSize(size, page), next));
}
