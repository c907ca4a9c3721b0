import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { leastPrivilegeKubeconfig } from "../../../tools/local/least-privilege.ts";
import { sidecarSets } from "../../api/kinds.ts";
import { namespaces as namespaceKind } from "../../api/objects.ts";
import type { Pod } from "../../api/pods.ts";
import { WatchCache } from "../../kube/cache.ts";
import { Kube } from "../../kube/client.ts";
import { loadConnection } from "../../kube/kubeconfig.ts";
import { createLog } from "../../kube/log.ts";
import { PullSecrets } from "../../pullsecrets/pull-secrets.ts";
import { openReplication } from "../../replication/replication.ts";
import type { Seen } from "../../testing/api-proxy.ts";
import { adminKube, testNamespaces, uniqueName } from "../../testing/cluster.ts";
import { ownPlane } from "../../testing/planes.ts";
import { createSecret, getSecret } from "../../testing/secrets.ts";
import {
  createPullSecret,
  labelsFor,
  pod,
  type SidecarSetOptions,
  storeSidecarSet,
  suffixedName,
  untilPullSecret,
} from "../../testing/sidecars.ts";
import { openAccounts } from "./accounts.ts";
import { Judged } from "./judged.ts";
import { podHook } from "./pod-hook.ts";
import { recordOf, type SidecarSetRecord } from "./record.ts";
import type { Injecting } from "./review-pod.ts";

const own = ownPlane();
const ownNamespace = "latchkey-system";
const recordOptions = { mode: "instead", defaultNamespace: "default" } as const;

/** The hook alone, with the rights of the operator and the real API server behind a proxy. */
async function openHook(t: TestContext, wishes: Partial<Injecting> = {}) {
  const proxy = await own.proxy();
  const connection = await loadConnection({ kubeconfig: await leastPrivilegeKubeconfig(own.plane), env: {} });
  const kube = new Kube({ ...connection, server: proxy.url, tls: { ca: proxy.ca } });
  const log = createLog({ level: "error", format: "text" });
  const replication = await openReplication({ kube, namespace: ownNamespace, log });
  const home = await kube.getMetadata(namespaceKind, { name: "kube-system" });
  const installation = { uid: home?.metadata.uid ?? "", title: "Installation", isInstallation: true } as const;
  const pullSecrets = new PullSecrets({ kube, replication, installation, log });
  const accounts = openAccounts(kube, log);
  const sets = new WatchCache<SidecarSetRecord>({
    ...{ kube, log, resource: sidecarSets, keepManagedFields: true },
    transform: (object) => recordOf(object, recordOptions),
  });
  const judged = new Judged();
  const told: string[] = [];
  const caches = [sets, accounts, replication.copies, replication.sources, replication.namespaces];
  for (const cache of caches) cache.start();
  await Promise.all(caches.map((cache) => cache.synced()));
  t.after(async () => {
    await pullSecrets[Symbol.asyncDispose]();
    await Promise.all([...caches, replication].map((part) => part[Symbol.asyncDispose]()));
    await kube[Symbol.asyncDispose]();
  });
  const hook = podHook({
    ...{ mode: "instead", resource: sidecarSets, ownNamespace, failurePolicy: "Ignore", kube, accounts, pullSecrets },
    ...{ judged, log, sets: Promise.resolve(sets), namespaces: replication.namespaces },
    caches: [replication.copies, replication.sources],
    recorder: { tell: (_resource, { metadata }, { message }) => void told.push(`${metadata.name}: ${message}`) },
    ...wishes,
  });

  return {
    ...{ proxy, told, replication },
    /** As if our admission had seen it. */
    async createSet(options: SidecarSetOptions) {
      const set = await storeSidecarSet(t, await adminKube(), options);
      const record = recordOf(set, recordOptions);
      judged.accept(record.metadata.uid, record.digest);
      await until(sets, () => sets.has(set.metadata.name));
      return set;
    },
    seesSet: ({ metadata }: Pick<SidecarSetRecord, "metadata">) => until(sets, () => sets.has(metadata.name)),
    async seesNamespace(name: string) {
      await until(replication.namespaces, () => replication.namespaces.has(name));
      await until(accounts, () => accounts.has(`${name}/default`));
    },
    async review(object: object, namespace: string, { dryRun = false } = {}) {
      const startedAt = performance.now();
      const request = { uid: "1", operation: "CREATE", user: { username: "u" }, namespace, object, dryRun } as const;
      const verdict = await hook.review(request, {});
      assert.ok(verdict.allowed);
      const { patch = [], warnings = [] } = verdict;
      return { patch, warnings, pod: patched(object as Pod, patch), ms: performance.now() - startedAt };
    },
  };
}

/** Resolves once the cache has been told enough. */
async function until(cache: Pick<WatchCache, "name" | "subscribe">, holds: () => boolean): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const look = () => holds() && resolve();
  const timer = setTimeout(() => reject(new Error(`waited in vain for the cache of ${cache.name}`)), 60_000);
  const stop = cache.subscribe(look);
  look();
  await promise.finally(() => {
    clearTimeout(timer);
    stop();
  });
}

/** Whole fields only: nothing else is in our patches. */
function patched(
  object: Pod,
  patch: readonly { readonly op: string; readonly path: string; readonly value?: unknown }[],
): Pod {
  const result = structuredClone(object) as unknown as Record<string, Record<string, unknown>>;
  for (const { op, path, value } of patch) {
    const [, part = "", field = ""] = path.split("/");
    const { [field]: _, ...rest } = result[part] ?? {};
    result[part] = op === "remove" ? rest : { ...rest, [field]: structuredClone(value) };
  }
  return result as unknown as Pod;
}

const containersOf = ({ spec }: Pod) => spec?.containers?.map(({ name }) => name) ?? [];
const namesOf = ({ spec }: Pod) => spec?.imagePullSecrets?.map(({ name }) => name) ?? [];
const isSecretWrite = ({ method, path }: Seen) => method === "POST" && /\/secrets\b/.test(path);
const budgetMs = 1000;
/** Much, for a loaded machine: what is held is held for ever. */
const slackMs = 10_000;

test("a copy that the cache knows costs no API call", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const { proxy, replication, ...hook } = await openHook(t);
  await createPullSecret(kube, `${vault}/pull`);
  const set = await hook.createSet({ pullSecrets: [`${vault}/pull`] });
  await hook.seesNamespace(team);
  const draft = pod(`${team}/web`, { labels: labelsFor(set) });
  const first = await hook.review(draft, team);
  assert.deepEqual(namesOf(first.pod), [`${vault}-pull`]);
  await untilPullSecret(kube, `${team}/${vault}-pull`);
  await until(replication.copies, () => replication.copies.has(`${team}/${vault}-pull`));

  const before = proxy.requests.filter(({ isWatch }) => !isWatch).length;
  const second = await hook.review(draft, team);
  assert.equal(proxy.requests.filter(({ isWatch }) => !isWatch).length, before);
  assert.deepEqual(second.patch, first.patch);
});

test("many Pods at once in a new namespace: one copy is made, and all name it", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const { proxy, ...hook } = await openHook(t);
  await createPullSecret(kube, `${vault}/pull`);
  const set = await hook.createSet({ pullSecrets: [`${vault}/pull`] });
  await hook.seesNamespace(team);
  const reviews = Array.from({ length: 100 }, (_, index) =>
    hook.review(pod(`${team}/web-${index}`, { labels: labelsFor(set) }), team),
  );
  for (const review of await Promise.all(reviews)) assert.deepEqual(namesOf(review.pod), [`${vault}-pull`]);
  assert.equal(proxy.requests.filter((request) => isSecretWrite(request) && request.path.includes(team)).length, 1);
});

test("called again with what it made, it changes nothing", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const hook = await openHook(t);
  await createPullSecret(kube, `${vault}/pull`);
  const set = await hook.createSet({ pullSecrets: [`${vault}/pull`, `${vault}/missing`, uniqueName("local")] });
  await hook.seesNamespace(team);
  /** On a loaded machine the budget may run out, which is another story. */
  const reviewInTime = async (
    draft: Parameters<typeof hook.review>[0],
  ): Promise<Awaited<ReturnType<typeof hook.review>>> => {
    const reviewed = await hook.review(draft, team);
    return reviewed.ms < budgetMs ? reviewed : reviewInTime(draft);
  };
  const first = await reviewInTime(pod(`${team}/web`, { labels: labelsFor(set) }));
  assert.equal(namesOf(first.pod).length, 4);
  const second = await reviewInTime(first.pod);
  assert.deepEqual(second.patch, []);
});

test("the API server falls silent while the copy is made: both names, in time; the copy follows", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const { proxy, ...hook } = await openHook(t);
  await createPullSecret(kube, `${vault}/pull`);
  const set = await hook.createSet({ pullSecrets: [`${vault}/pull`] });
  await hook.seesNamespace(team);
  const silence = proxy.fault((request) => (isSecretWrite(request) ? { kind: "hold" } : undefined));
  const draft = pod(`${team}/web`, { labels: labelsFor(set) });
  const first = await hook.review(draft, team);
  assert.ok(first.ms < budgetMs + slackMs, `it took ${first.ms} ms`);
  assert.deepEqual(containersOf(first.pod), [set.metadata.name, "app"]);
  assert.deepEqual(namesOf(first.pod), [`${vault}-pull`, suffixedName(`${vault}/pull`)]);
  assert.equal(first.pod.metadata.annotations?.["latchkey.dev/pull-secrets"], `${vault}/pull=${vault}-pull`);

  silence.lift();
  await untilPullSecret(kube, `${team}/${vault}-pull`);
  const again = await hook.review(first.pod, team);
  assert.deepEqual(again.patch, [], "names that are there stay");
});

test("the API server answers nothing at all: what needs no call is injected", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [vault] = namespaces;
  const { proxy, ...hook } = await openHook(t);
  await createPullSecret(kube, `${vault}/pull`);
  const set = await hook.createSet({ pullSecrets: [`${vault}/pull`] });
  const choosy = await hook.createSet({
    spec: {
      selector: { matchLabels: labelsFor(set) },
      namespaceSelector: { matchExpressions: [{ key: "a", operator: "DoesNotExist" }] },
    },
  });
  const silence = proxy.fault(() => ({ kind: "hold" }));
  t.after(() => silence.discard());
  const { pod: injected, ms } = await hook.review(pod("unknown/web", { labels: labelsFor(set) }), "unknown");
  assert.ok(ms < budgetMs + slackMs, `it took ${ms} ms`);
  assert.deepEqual(containersOf(injected), [set.metadata.name, "app"], `not ${choosy.metadata.name}: by what labels?`);
  assert.deepEqual(namesOf(injected), [`${vault}-pull`, suffixedName(`${vault}/pull`)]);
});

test("a namespace and an account that no cache has are read", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createPullSecret(kube, `${vault}/pull`);
  const patch = { type: "merge", body: { metadata: { labels: { team: "a" } } } } as const;
  await kube.patch(namespaceKind, { name: team }, patch);
  const annotations = { "kubernetes.io/enforce-mountable-secrets": "true" };
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "strict", annotations } };
  await kube.request("POST", `/api/v1/namespaces/${team}/serviceaccounts`, { body: account });
  const known = { isSynced: true, get: () => undefined } as never;
  const hook = await openHook(t, { namespaces: known, accounts: known });
  const set = await hook.createSet({
    pullSecrets: [`${vault}/pull`],
    spec: { namespaceSelector: { matchLabels: { team: "a" } } },
  });
  const labels = labelsFor(set);
  const plain = await hook.review(pod(`${team}/web`, { labels }), team);
  assert.deepEqual(namesOf(plain.pod), [`${vault}-pull`]);
  const strict = await hook.review(pod(`${team}/web`, { labels, spec: { serviceAccountName: "strict" } }), team);
  assert.deepEqual([containersOf(strict.pod).length, namesOf(strict.pod)], [2, []]);
  assert.equal(hook.told.length, 1);
});

test("a dry run writes nothing and tells nobody; its answer is the real one", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const { proxy, told, ...hook } = await openHook(t);
  for (const name of ["free", "held"]) await createPullSecret(kube, `${vault}/${name}`);
  await createSecret(kube, `${team}/${vault}-held`);
  const sources = ["free", "held", "missing"].map((name) => `${vault}/${name}`);
  const volumeMounts = [{ name: "nowhere", mountPath: "/x" }];
  const set = await hook.createSet({ pullSecrets: sources });
  const name = uniqueName("set");
  const containers = [{ name, image: "i", volumeMounts }];
  await hook.createSet({ name, spec: { selector: { matchLabels: labelsFor(set) }, containers } });
  await hook.seesNamespace(team);
  const draft = pod(`${team}/web`, { labels: labelsFor(set) });
  const dry = await hook.review(draft, team, { dryRun: true });
  assert.deepEqual(namesOf(dry.pod), [`${vault}-free`, suffixedName(`${vault}/held`), `${vault}-missing`]);
  assert.deepEqual(
    proxy.requests.filter(({ isWrite, path }) => isWrite && path.includes(team)),
    [],
  );
  assert.deepEqual(told, []);
  assert.equal(await getSecret(kube, `${team}/${vault}-free`), undefined);

  const real = await hook.review(draft, team);
  assert.deepEqual(real.patch, dry.patch);
  assert.equal(told.length, 1);
  await untilPullSecret(kube, `${team}/${vault}-free`);
  await untilPullSecret(kube, `${team}/${suffixedName(`${vault}/held`)}`);
});

test("beside the original a collision is told at once: the Pod bears no mark by which it could be found", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  const { told, ...hook } = await openHook(t, { mode: "beside" });
  await createPullSecret(kube, `${vault}/pull`);
  const names = [`${vault}-pull`, suffixedName(`${vault}/pull`)];
  for (const name of names) await createSecret(kube, `${team}/${name}`);
  const set = await hook.createSet({ pullSecrets: [`${vault}/pull`] });
  await hook.seesNamespace(team);
  const annotations = { "kruise.io/sidecarset-injected-list": set.metadata.name };
  const draft = pod(`${team}/web`, { labels: labelsFor(set), annotations });
  const { patch } = await hook.review(draft, team, { dryRun: true });
  assert.deepEqual([patch, told], [[], []]);
  assert.deepEqual((await hook.review(draft, team)).patch, []);
  assert.equal(told.length, 1);
  assert.match(told[0] ?? "", new RegExp(`${team}: .* ${vault}/pull: .* ${names.join(" and ")}$`));
});

test("SidecarSets that are not known in time: the Pod is let pass, with a warning", async (t) => {
  const { namespaces } = await testNamespaces(t, 1);
  const [team] = namespaces;
  const hook = await openHook(t, { sets: new Promise(() => {}) });
  const { patch, warnings, ms } = await hook.review(pod(`${team}/web`), team);
  assert.deepEqual(patch, []);
  assert.match(warnings.join(), /it may lack its sidecars/);
  assert.ok(ms < budgetMs + slackMs, `it took ${ms} ms`);
});

test("a generation that nobody has judged is not injected", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [team] = namespaces;
  const hook = await openHook(t);
  const unseen = await storeSidecarSet(t, kube);
  await hook.seesSet(unseen);
  const seen = await hook.createSet({ spec: { selector: { matchLabels: labelsFor(unseen) } } });
  const { pod: injected } = await hook.review(pod(`${team}/web`, { labels: labelsFor(unseen) }), team);
  assert.deepEqual(containersOf(injected), [seen.metadata.name, "app"]);
});

const accepted = { type: "Accepted", status: "True", reason: "Valid", message: "", observedGeneration: 1 };

test("a generation that another replica has let pass is waited for, and injected once the leader says so", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 1);
  const [team] = namespaces;
  const hook = await openHook(t);
  const set = await storeSidecarSet(t, kube);
  await hook.seesSet(set);
  const review = hook.review(pod(`${team}/web`, { labels: labelsFor(set) }), team);
  const body = { status: { conditions: [{ ...accepted, lastTransitionTime: new Date().toISOString() }] } };
  await kube.patch(sidecarSets, set.metadata, { type: "merge", body }, { subresource: "status" });
  assert.deepEqual(containersOf((await review).pod), [set.metadata.name, "app"]);
});

test("what another replica has put into a Pod stays, with its marks, while this one has no verdict", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 2);
  const [vault, team] = namespaces;
  await createPullSecret(kube, `${vault}/pull`);
  const [knowing, other] = [await openHook(t), await openHook(t)];
  const set = await knowing.createSet({ pullSecrets: [`${vault}/pull`] });
  await knowing.seesNamespace(team);
  await other.seesSet(set);
  const draft = pod(`${team}/web`, { labels: labelsFor(set) });
  const { pod: injected } = await knowing.review(draft, team);
  assert.deepEqual(namesOf(injected), [`${vault}-pull`]);
  const second = await other.review(injected, team);
  assert.deepEqual(second.patch, []);
  assert.ok(second.ms < budgetMs + slackMs, `it took ${second.ms} ms`);

  const { metadata, spec } = injected;
  const forged = await other.review({ ...draft, metadata }, team);
  assert.deepEqual(forged.pod.metadata.annotations, {}, "without its containers the marks go");
  const bare = await other.review({ spec, metadata: draft.metadata }, team);
  assert.deepEqual(bare.patch, [], "nothing is marked that was not");
});

test("where copies cannot be looked for at all, the rest is injected", async (t) => {
  const { namespaces } = await testNamespaces(t, 1);
  const [team] = namespaces;
  const failing = { resolve: () => Promise.reject(new Error("oh")) };
  const hook = await openHook(t, { pullSecrets: failing });
  const set = await hook.createSet({ pullSecrets: ["vault/pull"] });
  const { pod: injected } = await hook.review(pod(`${team}/web`, { labels: labelsFor(set) }), team);
  assert.deepEqual(containersOf(injected), [set.metadata.name, "app"]);
  assert.deepEqual(namesOf(injected), ["vault-pull", suffixedName("vault/pull")]);
});

test("what fails closed leaves kube-system to itself", () => {
  const selectorFor = (failurePolicy: "Ignore" | "Fail") =>
    JSON.stringify(podHook({ ownNamespace, failurePolicy } as Parameters<typeof podHook>[0]).namespaceSelector);
  assert.doesNotMatch(selectorFor("Ignore"), /kube-system/);
  assert.match(selectorFor("Fail"), /"NotIn","values":\["latchkey-system","kube-system"\]/);
});
