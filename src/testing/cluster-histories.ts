import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { type KubeObject, namespaces as namespaceKind, type Secret, secrets } from "../api/objects.ts";
import { isReason } from "../kube/errors.ts";
import type { ApiProxy } from "./api-proxy.ts";
import { removeQuietly, uniqueName } from "./cluster.ts";
import { at, encoded } from "./objects.ts";
import { createSecret, deleteSecret, getSecret, patchSecret, setValues } from "./secrets.ts";
import { changeSpec, copiesIn, forgedMarks, namesGiven, refer, type ServedCluster } from "./served-clusters.ts";
import { dockerConfig, dockerConfigType, literalName, suffixedName } from "./sidecars.ts";
import { type Cluster, clusters } from "./user-clusters.ts";
import { conditionIn } from "./wait.ts";

/** What people do, in any order and without waiting for each other or for the operator. */
export type Step =
  | { readonly do: "refer"; readonly sources: readonly number[] }
  | { readonly do: "edit source" | "delete source" | "veto" | "unveto" | "spoil source"; readonly source: number }
  | { readonly do: "opt out" | "opt in" | "create namespace"; readonly namespace: number }
  | { readonly do: "exclude"; readonly namespaces: readonly number[] }
  | {
      readonly do: "edit copy" | "delete copy" | "unmark copy" | "forge" | "plant" | "unplant";
      readonly source: number;
      readonly namespace: number;
      readonly suffixed: boolean;
    }
  /** All connections to the user cluster break; new ones too, for a while. */
  | { readonly do: "cut" }
  | { readonly do: "wait" | "go away"; readonly ms: number };

export const sourceCount = 3;
export const namespaceCount = 3;

interface Source {
  readonly key: string;
  /** Undefined: it does not exist. */
  content: { readonly values: Readonly<Record<string, string>>; readonly type: string; isVetoed: boolean } | undefined;
}

interface Place {
  readonly name: string;
  isThere: boolean;
  isExcluded: boolean;
}

/** Where it takes place, whatever happens. */
export interface HistoryGround extends Pick<ServedCluster, "kube" | "user" | "name"> {
  /** In the home: the names of Secrets `b-c` in the first and `c` in the second join alike. */
  readonly vaults: readonly [string, string];
  readonly installation: string;
  /** Between the operator and the user cluster. */
  readonly proxy: ApiProxy;
}

/** One Cluster, the sources it may reference and the namespaces of its cluster; and what must come of it in the end. */
export class ClusterHistory {
  readonly #ground: HistoryGround;
  readonly #sources: readonly Source[];
  readonly #namespaces: readonly Place[];
  /** Secrets of others, by key. */
  readonly #foreign = new Map<string, Secret>();
  #references: readonly number[] = [];
  #edits = 0;

  constructor(ground: HistoryGround) {
    this.#ground = ground;
    const run = uniqueName("r");
    const [vault, longer] = ground.vaults;
    const keys = [`${vault}/b-${run}`, `${longer}/${run}`, `${vault}/other-${run}`];
    this.#sources = keys.map((key) => ({ key, content: undefined }));
    this.#namespaces = Array.from({ length: namespaceCount }, (_, index) => {
      return { name: `${run}-${index}`, isThere: false, isExcluded: false };
    });
  }

  async begin(): Promise<void> {
    for (const index of this.#sources.keys()) await this.#editSource(index);
    await this.run({ do: "create namespace", namespace: 0 });
    await this.run({ do: "create namespace", namespace: 1 });
    await this.run({ do: "refer", sources: [0, 1] });
  }

  async run(step: Step): Promise<void> {
    switch (step.do) {
      case "refer":
        this.#references = step.sources;
        await refer(
          this.#ground,
          step.sources.map((index) => this.#source(index).key),
        );
        return;
      case "edit source":
        return this.#editSource(step.source);
      case "delete source":
        return this.#deleteSource(step.source);
      case "spoil source":
        await this.#deleteSource(step.source);
        return this.#createSource(step.source, { password: "not yours" }, "Opaque");
      case "veto":
      case "unveto":
        return this.#veto(step.source, step.do === "veto");
      case "create namespace":
        return this.#createNamespace(step.namespace);
      case "opt out":
      case "opt in":
        return this.#optOut(step.namespace, step.do === "opt out");
      case "exclude":
        for (const [index, each] of this.#namespaces.entries()) each.isExcluded = step.namespaces.includes(index);
        await changeSpec(this.#ground, {
          excludedNamespaces: step.namespaces.map((index) => this.#place(index).name),
        });
        return;
      case "wait":
        return sleep(step.ms);
      case "cut":
        return this.#ground.proxy.cut();
      case "go away": {
        const rule = this.#ground.proxy.fault(() => ({ kind: "cut" }));
        this.#ground.proxy.cut();
        await sleep(step.ms);
        return rule.lift();
      }
      default:
        return this.#atPlace(step);
    }
  }

  /** Has what is free now noticed: nobody watches the Secrets of others. */
  async touch(): Promise<void> {
    const body = { metadata: { annotations: { touched: uniqueName("at") } } };
    for (const { name, isThere } of this.#namespaces) {
      if (isThere) await this.#ground.user.kube.patch(namespaceKind, { name }, { type: "merge", body });
    }
  }

  /** What is not yet as it should be. */
  async problems(): Promise<readonly string[]> {
    const places = (await this.#ground.user.kube.list(namespaceKind)).filter(
      ({ metadata }) => !metadata.deletionTimestamp,
    );
    const served = places.filter((place) => this.#isServed(place)).map(({ metadata }) => metadata.name);
    const copies = [...(await copiesIn(this.#ground.user))]
      .filter(([key]) => !this.#foreign.has(key))
      .map(([, copy]) => copy);
    const found = await Promise.all([
      ...places.map((place) => this.#problemsIn(place, copies)),
      ...this.#sources.map((source, index) => this.#problemsOf(source, index)),
      ...[...this.#foreign].map(([key, before]) => this.#problemsAt(key, before)),
      this.#problemsTold(places.length, served, copies),
    ]);
    return found.flat();
  }

  /** Nobody asks for anything any more. */
  async end(): Promise<void> {
    await this.run({ do: "refer", sources: [] });
    await this.run({ do: "exclude", namespaces: [] });
  }

  async clear(): Promise<void> {
    const { kube, user } = this.#ground;
    for (const { name } of this.#namespaces) await removeQuietly(() => user.kube.delete(namespaceKind, { name }));
    for (const { key } of this.#sources) await removeQuietly(() => deleteSecret(kube, key));
  }

  async #editSource(index: number): Promise<void> {
    const { key, content } = this.#source(index);
    const values = dockerConfig("robot", `edit-${++this.#edits}`);
    if (content?.type === dockerConfigType) {
      await setValues(this.#ground.kube, key, values);
      this.#source(index).content = { ...content, values };
      return;
    }
    await this.#deleteSource(index);
    await this.#createSource(index, values, dockerConfigType);
  }

  async #createSource(index: number, values: Readonly<Record<string, string>>, type: string): Promise<void> {
    await createSecret(this.#ground.kube, this.#source(index).key, values, { type });
    this.#source(index).content = { values, type, isVetoed: false };
  }

  async #deleteSource(index: number): Promise<void> {
    if (this.#source(index).content) await deleteSecret(this.#ground.kube, this.#source(index).key);
    this.#source(index).content = undefined;
  }

  async #veto(index: number, isVetoed: boolean): Promise<void> {
    const { key, content } = this.#source(index);
    if (!content) return;
    content.isVetoed = isVetoed;
    await patchSecret(this.#ground.kube, key, {
      metadata: { annotations: { "latchkey.dev/no-copy": isVetoed ? "true" : null } },
    });
  }

  async #createNamespace(index: number): Promise<void> {
    const place = this.#place(index);
    if (place.isThere) return;
    await this.#ground.user.kube.create(namespaceKind, { metadata: { name: place.name } });
    place.isThere = true;
  }

  async #optOut(index: number, isOut: boolean): Promise<void> {
    const place = this.#place(index);
    if (!place.isThere) return;
    const body = { metadata: { labels: { "latchkey.dev/inject": isOut ? "false" : null } } };
    await this.#ground.user.kube.patch(namespaceKind, { name: place.name }, { type: "merge", body });
  }

  async #atPlace(step: Extract<Step, { suffixed: boolean }>): Promise<void> {
    const { kube } = this.#ground.user;
    const place = this.#place(step.namespace);
    if (!place.isThere) return;
    const { key: source } = this.#source(step.source);
    const key = `${place.name}/${step.suffixed ? suffixedName(source) : literalName(source)}`;
    try {
      switch (step.do) {
        case "edit copy":
          return await this.#onCopy(key, (copy) =>
            patchSecret(kube, key, { ...guard(copy), data: encoded({ ".dockerconfigjson": "{}", more: "by hand" }) }),
          );
        case "delete copy":
          return await this.#onCopy(key, ({ metadata: { uid } }) =>
            kube.delete(secrets, at(key), { preconditions: { uid } }),
          );
        case "unmark copy":
          return await this.#onCopy(key, async (copy) => {
            const { "latchkey.dev/source-hash": _, ...labels } = copy.metadata.labels ?? {};
            const metadata = { ...copy.metadata, labels };
            this.#foreign.set(key, await kube.replace<Secret>(secrets, { ...copy, metadata }));
          });
        case "forge": {
          const marks = forgedMarks(key, source, this.#ground.installation);
          await createSecret(kube, key, dockerConfig("forged"), { type: dockerConfigType, ...marks });
          return;
        }
        case "plant":
          this.#foreign.set(key, await createSecret(kube, key, { theirs: "yes" }, { labels: { theirs: "yes" } }));
          return;
        case "unplant":
          if (this.#foreign.delete(key)) await deleteSecret(kube, key);
      }
    } catch (error) {
      if (!isReason(error, "AlreadyExists", "Conflict", "NotFound")) throw error;
    }
  }

  /** Only what is a copy at this moment: the operator may be quicker, then there is nothing to do. */
  async #onCopy(key: string, act: (copy: Secret) => Promise<unknown>): Promise<void> {
    const copy = this.#foreign.has(key) ? undefined : await getSecret(this.#ground.user.kube, key);
    if (copy) await act(copy);
  }

  #source(index: number): Source {
    return this.#sources[index] as Source;
  }

  #place(index: number): Place {
    return this.#namespaces[index] as Place;
  }

  #isUsable({ content }: Source): boolean {
    return content?.type === dockerConfigType && !content.isVetoed;
  }

  #isServed({ metadata: { name, labels } }: KubeObject): boolean {
    const excluded = this.#namespaces.some((each) => each.name === name && each.isExcluded);
    return labels?.["latchkey.dev/inject"] !== "false" && !excluded;
  }

  async #problemsIn(place: KubeObject, copies: readonly Secret[]): Promise<readonly string[]> {
    const { name } = place.metadata;
    const here = copies.filter(({ metadata }) => metadata.namespace === name);
    const isServed = this.#isServed(place);
    const problems = this.#sources.flatMap((source, index) => {
      const isWanted = isServed && this.#isUsable(source) && this.#references.includes(index);
      return this.#problemsWith(source, isWanted, name, here);
    });
    const given = await namesGiven(this.#ground.user, name);
    const wanted = isServed ? this.#references.map((index) => this.#namesOf(this.#source(index), here)) : [];
    return isInTurn(given, wanted)
      ? problems
      : [...problems, `Pods in ${name} get ${given}, not ${JSON.stringify(wanted)}`];
  }

  #problemsWith(source: Source, isWanted: boolean, namespace: string, here: readonly Secret[]): readonly string[] {
    const { key, content } = source;
    const own = here.filter((copy) => isCopyOf(copy, key));
    const where = `${key} in ${namespace}`;
    if (!isWanted) return own.length > 0 ? [`there is a copy of ${where}`] : [];
    if (own.length === 0) return this.#isHeld(key, namespace, here) ? [] : [`there is no copy of ${where}`];
    if (own.length > 1) return [`there are two copies of ${where}`];
    return isDeepStrictEqual(own[0]?.data, encoded(content?.values ?? {})) ? [] : [`the copy of ${where} is not equal`];
  }

  /** A reference that waits for its source keeps its name from others: whether it has one is not asked here. */
  #isHeld(source: string, namespace: string, here: readonly Secret[]): boolean {
    const isNamesakeReferenced = this.#references.some((index) => {
      const { key } = this.#source(index);
      return key !== source && literalName(key) === literalName(source);
    });
    const isLiteralHeld =
      isNamesakeReferenced ||
      this.#foreign.has(`${namespace}/${literalName(source)}`) ||
      here.some((copy) => copy.metadata.name === literalName(source) && !isCopyOf(copy, source));
    return isLiteralHeld && this.#foreign.has(`${namespace}/${suffixedName(source)}`);
  }

  /** By which names Pods may get it there; `undefined` for not at all. */
  #namesOf(source: Source, here: readonly Secret[]): readonly (string | undefined)[] {
    if (!source.content) return [literalName(source.key), suffixedName(source.key), undefined];
    if (!this.#isUsable(source)) return [undefined];
    return [here.find((copy) => isCopyOf(copy, source.key))?.metadata.name];
  }

  async #problemsOf({ key, content }: Source, index: number): Promise<readonly string[]> {
    const source = await getSecret(this.#ground.kube, key);
    if (!source || !content) return source || content ? [`${key} is not as its owner left it`] : [];
    const isLabelled = source.metadata.labels?.["latchkey.dev/source"] === "true";
    return [
      ...(isDeepStrictEqual(source.data, encoded(content.values)) ? [] : [`${key} is not as its owner left it`]),
      ...(isLabelled === this.#references.includes(index) ? [] : [`${key} is labelled: ${isLabelled}`]),
    ];
  }

  async #problemsAt(key: string, before: Secret): Promise<readonly string[]> {
    const now = await getSecret(this.#ground.user.kube, key);
    return isDeepStrictEqual(now, before) ? [] : [`the foreign Secret ${key} is not as it was`];
  }

  async #problemsTold(total: number, served: readonly string[], copies: readonly Secret[]): Promise<readonly string[]> {
    const cluster = (await this.#ground.kube.get(clusters, { name: this.#ground.name })) as Cluster;
    const own = this.#references.map((index) => this.#source(index));
    const counts = own.map(
      ({ key }) =>
        copies.filter((copy) => isCopyOf(copy, key) && served.includes(copy.metadata.namespace ?? "")).length,
    );
    const isComplete = own.every((source, index) => this.#isUsable(source) && counts[index] === served.length);
    const { namespaces, imagePullSecrets = [] } = cluster.status ?? {};
    const told = {
      ready: conditionIn(cluster, "Ready")?.status,
      total: namespaces?.total,
      served: namespaces?.served,
      copies: imagePullSecrets.map((entry) => entry.copies),
    };
    const wanted = { ready: isComplete ? "True" : "False", total, served: served.length, copies: counts };
    return isDeepStrictEqual(told, wanted) ? [] : [`told is ${JSON.stringify(told)}, not ${JSON.stringify(wanted)}`];
  }
}

const guard = ({ metadata: { uid, resourceVersion } }: Secret) => ({ metadata: { uid, resourceVersion } });

const isCopyOf = ({ metadata }: Secret, source: string): boolean =>
  metadata.annotations?.["latchkey.dev/source"] === source && !metadata.deletionTimestamp;

/** Each name is one that its reference may have, and a reference that must have one has it. */
function isInTurn(
  given: readonly (string | undefined)[],
  wanted: readonly (readonly (string | undefined)[])[],
): boolean {
  const [first, ...rest] = wanted;
  if (!first) return given.length === 0;
  const [name, ...others] = given;
  return (
    (first.includes(undefined) && isInTurn(given, rest)) ||
    (name !== undefined && first.includes(name) && isInTurn(others, rest))
  );
}
