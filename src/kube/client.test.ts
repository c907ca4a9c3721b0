import assert from "node:assert/strict";
import { test } from "node:test";
import { type Draft, type KubeObject, type Secret, secrets } from "../api/objects.ts";
import { connect, testNamespaces } from "../testing/cluster.ts";
import type { Page } from "./client.ts";
import { isGoneOrReplaced, missingVerbOf } from "./errors.ts";

const data = { password: Buffer.from("ours").toString("base64") };
const another = "11111111-2222-3333-4444-555555555555";

function draft(namespace: string, name = "a"): Draft<Secret> {
  return { metadata: { namespace, name }, data };
}

test("absence is undefined, presence is refused by name", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [namespace] = namespaces;
  assert.equal(await kube.get(secrets, { namespace, name: "a" }), undefined);
  assert.equal(await kube.delete(secrets, { namespace, name: "a" }), false);
  await kube.create(secrets, draft(namespace));
  await assert.rejects(kube.create(secrets, draft(namespace)), { reason: "AlreadyExists" });
  assert.equal(await kube.delete(secrets, { namespace, name: "a" }), true);
});

test("no secret bytes come back where only metadata is asked for", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [namespace] = namespaces;
  const ref = { namespace, name: "a" };
  const label = { type: "merge", body: { metadata: { labels: { a: "b" } } } } as const;
  const answers = [
    await kube.create(secrets, draft(namespace), { metadataOnly: true }),
    await kube.getMetadata(secrets, ref),
    await kube.apply(secrets, draft(namespace), { metadataOnly: true, force: true }),
    await kube.patch(secrets, ref, label, { metadataOnly: true }),
    ...(await kube.listMetadata(secrets, { namespace })),
  ];
  assert.equal(answers.length, 5);
  for (const answer of answers) {
    assert.equal(answer?.metadata.name, "a");
    assert.ok(!JSON.stringify(answer).includes(data.password));
  }
});

test("an unknown field is refused where the validation is strict, and dropped elsewhere", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [namespace] = namespaces;
  const odd = { ...draft(namespace), datta: data };
  const strict = { fieldValidation: "Strict" } as const;
  await assert.rejects(kube.create(secrets, odd, strict), { status: 400, message: /unknown field "datta"/ });
  await assert.rejects(kube.create(secrets, odd, { ...strict, dryRun: true }), { status: 400 });
  assert.equal(await kube.get(secrets, { namespace, name: "a" }), undefined);
  await kube.create(secrets, draft(namespace), strict);
  assert.ok(!("datta" in (await kube.create<Secret>(secrets, { ...odd, ...draft(namespace, "b") }))));
});

test("a dry run changes nothing, whatever the verb", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [namespace] = namespaces;
  const ref = { namespace, name: "a" };
  const created = await kube.create<Secret>(secrets, draft(namespace));
  const dryRun = true;
  const changed = { ...draft(namespace), data: { password: "AAAA" } };
  await kube.create(secrets, draft(namespace, "b"), { dryRun });
  await kube.apply(secrets, changed, { dryRun, force: true });
  await kube.patch(secrets, ref, { type: "merge", body: { data: { password: "AAAA" } } }, { dryRun });
  await kube.replace<Secret>(secrets, { ...created, data: changed.data ?? {} }, { dryRun });
  assert.equal(await kube.delete(secrets, ref, { dryRun }), true);
  assert.deepEqual(
    (await kube.list<Secret>(secrets, { namespace })).map(({ metadata }) => metadata.resourceVersion),
    [created.metadata.resourceVersion],
  );
});

test("a write with the uid of an object that was replaced or is gone says so", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [namespace] = namespaces;
  await kube.create(secrets, draft(namespace));
  const ref = { namespace, name: "a" };
  const applied = (name: string) =>
    kube.apply(secrets, { ...draft(namespace), metadata: { namespace, name, uid: another } });
  await assert.rejects(applied("a"), isGoneOrReplaced);
  await assert.rejects(applied("missing"), isGoneOrReplaced);
  assert.equal(await kube.get(secrets, { namespace, name: "missing" }), undefined, "an apply did not create it");
  const merged = kube.patch(secrets, ref, { type: "merge", body: { metadata: { uid: another, labels: { a: "b" } } } });
  await assert.rejects(merged, isGoneOrReplaced);
  await assert.rejects(kube.delete(secrets, ref, { preconditions: { uid: another } }), isGoneOrReplaced);
  await assert.rejects(kube.delete(secrets, ref, { preconditions: { resourceVersion: "1" } }), {
    reason: "Conflict",
  });
});

test("an apply does not take another manager's field unless forced", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [namespace] = namespaces;
  await kube.apply(secrets, draft(namespace), { fieldManager: "first" });
  const changed = { ...draft(namespace), data: { password: "AAAA" } };
  const second = { fieldManager: "second" };
  await assert.rejects(kube.apply(secrets, changed, second), (error: { causes: readonly { field?: string }[] }) => {
    assert.deepEqual(
      error.causes.map((cause) => cause.field),
      [".data.password"],
    );
    return true;
  });
  const forced = await kube.apply<Secret>(secrets, changed, { ...second, force: true });
  assert.equal(forced.data?.password, "AAAA");
});

test("pages together are the whole list, and selectors narrow it", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [namespace] = namespaces;
  const names = Array.from({ length: 7 }, (_, index) => `s${index}`);
  await Promise.all(names.map((name) => kube.create(secrets, draft(namespace, name), { owner: "test" })));
  const sizes: number[] = [];
  const seen: string[] = [];
  let continueToken: string | undefined;
  do {
    const page: Page<KubeObject> = await kube.page(secrets, { namespace, limit: 3, metadataOnly: true, continueToken });
    sizes.push(page.items.length);
    seen.push(...page.items.map(({ metadata }) => metadata.name));
    continueToken = page.continueToken;
  } while (continueToken);
  assert.deepEqual(sizes, [3, 3, 1]);
  assert.deepEqual(seen, names);
  const one = await kube.list(secrets, { namespace, fieldSelector: "metadata.name=s3" });
  assert.equal(one.length, 1);
  assert.deepEqual(await kube.listMetadata(secrets, { namespace, labelSelector: "nobody=has" }), []);
});

test("a fenced client reads, tries and asks, but does not write", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [namespace] = namespaces;
  let mayWrite = false;
  const fenced = kube.fencedBy(() => mayWrite);
  await assert.rejects(fenced.create(secrets, draft(namespace)), { name: "FencedError" });
  await assert.rejects(fenced.request("POST", "/anything"), { name: "FencedError" });
  await fenced.create(secrets, draft(namespace), { dryRun: true });
  assert.deepEqual(await fenced.list(secrets, { namespace }), []);
  mayWrite = true;
  await fenced.create(secrets, draft(namespace));
});

test("a missing right is named", async (t) => {
  const { namespaces } = await testNamespaces(t, 1);
  const [namespace] = namespaces;
  const nobody = await connect({ user: "nobody" });
  await assert.rejects(nobody.create(secrets, draft(namespace)), (error: Error) => {
    assert.deepEqual(missingVerbOf(error), { verb: "create", resource: "secrets", group: "", namespace });
    return true;
  });
});

test("a kind that is not served is no absent object", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [namespace] = namespaces;
  const unknown = { ...secrets, group: "nowhere.dev" };
  assert.equal(await kube.serves(secrets), true);
  assert.equal(await kube.serves(unknown), false);
  await assert.rejects(kube.get(unknown, { namespace, name: "a" }), { status: 404, reason: "" });
});
