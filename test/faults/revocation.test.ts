import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { namespaces as namespaceKind, type Secret, secrets } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { afterwards, type Seen } from "../../src/testing/api-proxy.ts";
import { auditPosition, operatorWrites, type Write } from "../../src/testing/audit.ts";
import { testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { sampleIn } from "../../src/testing/metrics.ts";
import { at, configMaps } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { type Asked, refuseSecrets } from "../../src/testing/refusals.ts";
import { createSecret, deleteSecret, patchSecret, setValues, theSecret } from "../../src/testing/secrets.ts";
import {
  changeSidecarSet,
  createInjectedPod,
  createPod,
  createPullSecret,
  createSidecarSet,
  dockerConfig,
  injectedListAnnotation,
  labelsFor,
  literalName,
  type Pod,
  pods,
  type SidecarSet,
  setPodPhase,
  sidecarSets,
  suffixedName,
  untilPullSecret,
  untilSetCondition,
  untilSidecarSet,
} from "../../src/testing/sidecars.ts";
import { untilGone, untilMetadata } from "../../src/testing/wait.ts";
import { ask } from "../../tools/local/http.ts";
import type { Operator } from "../../tools/local/operator.ts";

const own = ownPlane();

/** A SidecarSet with one original, and a Pod in each of two namespaces that has a copy of it. */
interface Scene {
  readonly t: TestContext;
  readonly kube: Kube;
  readonly set: SidecarSet;
  readonly source: string;
  readonly pods: readonly string[];
  /** As they were when the operator went. */
  readonly copies: readonly Secret[];
}

interface Story {
  readonly name: string;
  /** How many of the names that a copy could have are held by Secrets of others before there is a Pod. */
  readonly held?: 1 | 2;
  readonly meanwhile: (scene: Scene) => Promise<unknown>;
  readonly afterwards: (scene: Scene) => Promise<unknown>;
}

const keyOfCopy = ({ metadata }: Secret) => `${metadata.namespace}/${metadata.name}`;
const ofAll = <T>(all: readonly T[], act: (each: T) => Promise<unknown>) => Promise.all(all.map(act));

const deleteSet = ({ kube, set }: Scene) => kube.delete(sidecarSets, { name: set.metadata.name });
const deletePods = ({ kube, pods: keys }: Scene) => ofAll(keys, (key) => kube.delete(pods, at(key)));
const removeReferences = ({ kube, set }: Scene) => changeSidecarSet(kube, set, { spec: { imagePullSecrets: null } });
const copiesGo = ({ kube, copies }: Scene) => ofAll(copies, (copy) => untilGone(kube, secrets, at(keyOfCopy(copy))));
const isUnlabelled = ({ kube, source }: Scene) =>
  untilMetadata(kube, source, "has no label of ours", ({ metadata }) => !metadata.labels?.["latchkey.dev/source"]);
/** It says why there are no copies, and that there are none. */
async function reports({ kube, set }: Scene, reason: string): Promise<void> {
  await untilSetCondition(kube, set, "PullSecretsReady", { status: "False", reason });
  await untilSidecarSet(kube, set.metadata.name, "counts no copies", ({ status }) => {
    return status?.imagePullSecrets?.every(({ copies }) => copies === 0) ?? false;
  });
}

/** Copies are what they were, to the last byte. */
async function copiesStay({ kube, copies }: Scene): Promise<void> {
  for (const copy of copies) assert.deepEqual(await theSecret(kube, keyOfCopy(copy)), copy);
}

/** Copies hold something else and are the same objects. */
async function copiesHold({ kube, copies }: Scene, token: string): Promise<void> {
  for (const copy of copies) {
    const { metadata } = await untilPullSecret(kube, keyOfCopy(copy), token);
    assert.equal(metadata.uid, copy.metadata.uid);
  }
}

/** The source as it is now does not reach the copies: another one, changed later, has reached its own. */
async function isNotFollowed(scene: Scene): Promise<void> {
  await setValues(scene.kube, scene.source, dockerConfig("robot", "rotated"));
  await marker.rotate();
  await copiesStay(scene);
}

const stories: readonly Story[] = [
  {
    name: "an original that was deleted is revoked everywhere, though Pods use its copies",
    meanwhile: ({ kube, source }) => deleteSecret(kube, source),
    afterwards: async (scene) => {
      await copiesGo(scene);
      await reports(scene, "SourceMissing");
    },
  },
  {
    name: "so is one of which the SidecarSet was deleted as well",
    meanwhile: async (scene) => {
      await deleteSet(scene);
      await deleteSecret(scene.kube, scene.source);
    },
    afterwards: copiesGo,
  },
  {
    name: "so is one whose owner forbids copies now",
    meanwhile: ({ kube, source }) =>
      patchSecret(kube, source, { metadata: { annotations: { "latchkey.dev/no-copy": "true" } } }),
    afterwards: async (scene) => {
      await copiesGo(scene);
      await reports(scene, "SourceVetoed");
    },
  },
  {
    name: "so is one that was made anew with a type that is not for pulling",
    meanwhile: async ({ kube, source }) => {
      await deleteSecret(kube, source);
      await createSecret(kube, source, dockerConfig("robot"));
    },
    afterwards: async (scene) => {
      await copiesGo(scene);
      await reports(scene, "SourceTypeRejected");
    },
  },
  {
    name: "an original that was made anew is copied into the copies that are there",
    meanwhile: async ({ kube, source }) => {
      await deleteSecret(kube, source);
      await createPullSecret(kube, source, "new");
    },
    afterwards: (scene) => copiesHold(scene, "new"),
  },
  {
    name: "an original that was changed reaches the copies that are there",
    meanwhile: ({ kube, source }) => setValues(kube, source, dockerConfig("robot", "changed")),
    afterwards: (scene) => copiesHold(scene, "changed"),
  },
  {
    name: "copies that were edited are put right",
    meanwhile: ({ kube, copies }) => ofAll(copies, (copy) => setValues(kube, keyOfCopy(copy), { more: "by hand" })),
    afterwards: (scene) => copiesHold(scene, "s3cret"),
  },
  {
    name: "copies that were deleted come back",
    meanwhile: ({ kube, copies }) => ofAll(copies, (copy) => deleteSecret(kube, keyOfCopy(copy))),
    afterwards: ({ kube, copies }) => ofAll(copies, (copy) => untilPullSecret(kube, keyOfCopy(copy))),
  },
  {
    name: "of a deleted SidecarSet the copies stay as they are until the Pods that name them are gone",
    meanwhile: deleteSet,
    afterwards: async (scene) => {
      await isNotFollowed(scene);
      await deletePods(scene);
      await copiesGo(scene);
      await isUnlabelled(scene);
    },
  },
  {
    name: "of a deleted SidecarSet whose Pods were deleted too, they go",
    meanwhile: async (scene) => {
      await deleteSet(scene);
      await deletePods(scene);
    },
    afterwards: async (scene) => {
      await copiesGo(scene);
      await isUnlabelled(scene);
    },
  },
  {
    name: "of a reference that was removed they stay as they are until the Pods are gone",
    meanwhile: removeReferences,
    afterwards: async (scene) => {
      await isNotFollowed(scene);
      await deletePods(scene);
      await copiesGo(scene);
      await isUnlabelled(scene);
    },
  },
  {
    name: "of a reference that was removed with its Pods they go",
    meanwhile: async (scene) => {
      await removeReferences(scene);
      await deletePods(scene);
    },
    afterwards: async (scene) => {
      await copiesGo(scene);
      await isUnlabelled(scene);
    },
  },
  {
    name: "of a SidecarSet whose Pods were deleted they go when they have lain idle",
    meanwhile: deletePods,
    afterwards: async (scene) => {
      await copiesGo(scene);
      await untilSetCondition(scene.kube, scene.set, "PullSecretsReady", { status: "True", message: /^0 copies/ });
    },
  },
  {
    name: "of Pods that have finished too",
    meanwhile: ({ kube, pods: keys }) => ofAll(keys, (key) => setPodPhase(kube, key, "Succeeded")),
    afterwards: copiesGo,
  },
  {
    name: "where a foreign Secret has the first name, the copy under the second is revoked",
    held: 1,
    meanwhile: ({ kube, source }) => deleteSecret(kube, source),
    afterwards: copiesGo,
  },
  {
    name: "where foreign Secrets have both names, a changed original changes neither",
    held: 2,
    meanwhile: ({ kube, source }) => setValues(kube, source, dockerConfig("robot", "changed")),
    // That they are as they were is looked at in the end, of all.
    afterwards: () => marker.rotate(),
  },
  {
    name: "nor does one that was deleted",
    held: 2,
    meanwhile: ({ kube, source }) => deleteSecret(kube, source),
    afterwards: (scene) => reports(scene, "SourceMissing"),
  },
  {
    name: "where a foreign Secret took the name of a copy that was deleted, the copy comes under the second",
    meanwhile: ({ kube, copies }) =>
      ofAll(copies, async (copy) => {
        await deleteSecret(kube, keyOfCopy(copy));
        await foreign.plant(kube, keyOfCopy(copy), dockerConfig("theirs"));
      }),
    afterwards: async ({ t, kube, set, source, pods: keys }) => {
      const later = `${at(keys[0]!).namespace}/${uniqueName("later")}`;
      await createInjectedPod(t, kube, later, { labels: labelsFor(set) });
      await untilPullSecret(kube, `${at(later).namespace}/${suffixedName(source)}`);
    },
  },
  {
    name: "nothing has happened: nothing is written",
    meanwhile: async () => {},
    afterwards: async (scene) => {
      await marker.rotate();
      await copiesStay(scene);
    },
  },
];

/** Secrets of others, some of them with marks that they have from our copies. */
class Foreign {
  readonly #all: Secret[] = [];

  async plant(kube: Kube, key: string, values: Readonly<Record<string, string>>): Promise<void> {
    this.#all.push(await createSecret(kube, key, values));
  }

  /** As somebody does who copies the YAML of a copy to another place. */
  async paste(kube: Kube, { metadata, data, type }: Secret, key: string): Promise<void> {
    const { labels = {}, annotations = {} } = metadata;
    const draft = { metadata: { ...at(key), labels, annotations }, data: data ?? {}, type: type ?? "" };
    this.#all.push(await kube.create<Secret>(secrets, draft));
  }

  async isUntouched(kube: Kube): Promise<void> {
    assert.ok(this.#all.length > 0);
    for (const before of this.#all) assert.deepEqual(await theSecret(kube, keyOfCopy(before)), before);
  }
}

/** A copy of its own that shows how far the operator has come. */
class Marker {
  readonly source: string;
  readonly team: string;
  readonly #kube: Kube;
  #token = 0;

  constructor(kube: Kube, source: string, team: string) {
    this.#kube = kube;
    this.source = source;
    this.team = team;
  }

  async rotate(): Promise<void> {
    const token = `token-${++this.#token}`;
    await setValues(this.#kube, this.source, dockerConfig("robot", token));
    await untilPullSecret(this.#kube, `${this.team}/${literalName(this.source)}`, token);
  }
}

let foreign: Foreign;
let marker: Marker;

test("what happens to originals, Pods and SidecarSets while there is no operator", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 4);
  const [vault, ...teams] = namespaces;
  const [elsewhere, ...served] = teams;
  foreign = new Foreign();
  marker = new Marker(kube, `${vault}/marker`, served[0]!);
  const args = ["--sidecars-idle-copies=2s"];
  const operator = await own.operator();

  const begin = async ({ held }: Story, index: number): Promise<Scene> => {
    const source = `${vault}/pull-${index}`;
    const names = [literalName(source), suffixedName(source)];
    await createPullSecret(kube, source);
    for (const name of names.slice(0, held ?? 0)) {
      await ofAll(served, (team) => foreign.plant(kube, `${team}/${name}`, dockerConfig("theirs")));
    }
    const set = await createSidecarSet(t, kube, { pullSecrets: [source] });
    const keys = served.map((team) => `${team}/web-${index}`);
    await ofAll(keys, (key) => createInjectedPod(t, kube, key, { labels: labelsFor(set) }));
    const [name] = names.slice(held ?? 0);
    const copies = await Promise.all(name ? served.map((team) => untilPullSecret(kube, `${team}/${name}`)) : []);
    if (name && copies[0]) {
      await foreign.paste(kube, copies[0], `${served[0]}/pasted-${index}`);
      await foreign.paste(kube, copies[0], `${elsewhere}/${name}`);
    }
    await untilMetadata(kube, source, "is followed", ({ metadata }) => metadata.labels !== undefined);
    return { t, kube, set, source, pods: keys, copies };
  };
  await createPullSecret(kube, marker.source);
  const marking = await createSidecarSet(t, kube, { pullSecrets: [marker.source] });
  await createInjectedPod(t, kube, `${marker.team}/marker`, { labels: labelsFor(marking) });
  const scenes: (Story & Scene)[] = [];
  for (const [index, story] of stories.entries()) scenes.push({ ...story, ...(await begin(story, index)) });
  await operator.kill();

  for (const scene of scenes) await scene.meanwhile(scene);
  let next = await own.operator({ args });
  for (const scene of scenes) await t.test(scene.name, async () => void (await scene.afterwards(scene)));

  await t.test("the Secrets of others are as they were", () => foreign.isUntouched(kube));

  await t.test("a further start writes nothing", async () => {
    await untilCounted(kube);
    await next.stop();
    const from = await auditPosition(kube, vault);
    next = await own.operator({ args });
    await untilPassedOver(next, { sets: (await kube.list(sidecarSets)).length });
    await marker.rotate();
    assert.deepEqual(await workSince(kube, vault, from), []);
  });

  await t.test("nor does it while nothing happens that concerns it", async () => {
    const from = await auditPosition(kube, vault);
    await kube.create(configMaps, { metadata: { namespace: vault, name: "theirs" } });
    await createSecret(kube, `${served[0]}/theirs`);
    await createPod(t, kube, `${served[0]}/theirs`, { labels: { app: "theirs" } });
    for (let round = 0; round < 5; round++) await marker.rotate();
    assert.deepEqual(await workSince(kube, vault, from), []);
  });
  await foreign.isUntouched(kube);
  await next.stop();
});

/** One original with a Pod, and so a copy, in each of so many namespaces. */
async function spread<const N extends number>(t: TestContext, count: N) {
  const { kube, namespaces } = await testNamespaces(t, count);
  const [vault] = (await testNamespaces(t, 1)).namespaces;
  const source = `${vault}/pull`;
  await createPullSecret(kube, source);
  const set = await createSidecarSet(t, kube, { pullSecrets: [source] });
  const teams: readonly string[] = namespaces;
  await ofAll(teams, (team) => createInjectedPod(t, kube, `${team}/web`, { labels: labelsFor(set) }));
  const copies = teams.map((team) => `${team}/${literalName(source)}`);
  await ofAll(copies, (copy) => untilPullSecret(kube, copy));
  return { kube, set, source, copies, namespaces };
}

const underWay = [
  { name: "never arrives", isLate: false },
  { name: "arrives after its death", isLate: true },
] as const;

for (const { name, isLate } of underWay) {
  test(`killed in the middle of a revocation, and what was under way ${name}: the next one finishes it`, async (t) => {
    const proxy = await own.proxy();
    const operator = await own.operator({ through: proxy });
    const { kube, set, source, copies } = await spread(t, 6);
    const ofCopies = ({ method, path }: Seen) => method === "DELETE" && path.endsWith(`/${literalName(source)}`);
    const rule = proxy.fault(afterwards(2, ofCopies, { kind: "hold" }));
    await deleteSecret(kube, source);
    await rule.reached(1);
    await operator.kill();
    if (isLate) rule.lift();
    else rule.discard();

    const next = await own.operator({ through: proxy });
    await ofAll(copies, (copy) => untilGone(kube, secrets, at(copy)));
    await untilSetCondition(kube, set, "PullSecretsReady", { status: "False", reason: "SourceMissing" });
    await next.stop();
  });
}

test("somebody forbids the deletion of one copy: the others go, and this one when it may, also after a restart", async (t) => {
  const operator = await own.operator();
  const { kube, source, copies, namespaces } = await spread(t, 3);
  const [kept = "", ...others] = copies;
  const forbid = ({ operation }: Asked) => (operation === "DELETE" ? "kept for the audit" : undefined);
  const { stop } = await refuseSecrets(t, kube, [namespaces[0]], forbid);
  await deleteSecret(kube, source);
  await ofAll(others, (copy) => untilGone(kube, secrets, at(copy)));
  await untilPullSecret(kube, kept);
  await operator.kill();
  const next = await own.operator();
  await untilPullSecret(kube, kept);
  await stop();
  // What stood in the way may have gone with it.
  const body = { metadata: { labels: { "example.com/audit": "over" } } };
  await kube.patch(namespaceKind, { name: namespaces[0] }, { type: "merge", body });
  await untilGone(kube, secrets, at(kept));
  await next.stop();
});

/** What was written, but for the marker's copy and what the operator needs for itself. */
async function workSince(kube: Kube, namespace: string, from: number): Promise<readonly string[]> {
  const isWork = ({ namespace: where, resource, name }: Write) =>
    where !== "latchkey-system" && !resource.endsWith("webhookconfigurations") && name !== literalName(marker.source);
  const writes = (await operatorWrites(kube, namespace, { from })).filter(isWork);
  return writes.map(({ verb, resource, subresource, namespace: where, name }) =>
    [verb, resource, subresource, where, name].join(" "),
  );
}

/** Numbers reach the status of a SidecarSet a moment late. */
async function untilCounted(kube: Kube): Promise<void> {
  const all = await kube.list<Pod>(pods);
  const isCounted = ({ metadata, status }: Pod, name: string) =>
    status?.phase !== "Succeeded" && metadata.annotations?.[injectedListAnnotation] === name;
  for (const { metadata } of await kube.list<SidecarSet>(sidecarSets)) {
    const { length } = all.filter((pod) => isCounted(pod, metadata.name));
    await untilSidecarSet(kube, metadata.name, `counts ${length} Pods`, ({ status }) => status?.matchedPods === length);
  }
}

/** Every SidecarSet has had its pass, and nothing is waiting for one. */
async function untilPassedOver({ metricsUrl }: Operator, { sets }: { readonly sets: number }): Promise<void> {
  for (const deadline = performance.now() + 60_000; ; await sleep(100)) {
    const { body } = await ask(`${metricsUrl}/metrics`);
    const passes = sampleIn(body, "latchkey_passes_total", { controller: "sidecars" }) ?? 0;
    const waiting = sampleIn(body, "latchkey_queue_depth") ?? 0;
    if (passes >= sets && waiting === 0) return;
    if (performance.now() > deadline) throw new Error(`${passes} passes over ${sets} SidecarSets, ${waiting} to come`);
  }
}
