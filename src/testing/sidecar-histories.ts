import { type Secret, secrets } from "../api/objects.ts";
import type { Kube } from "../kube/client.ts";
import { isReason } from "../kube/errors.ts";
import { at, encoded } from "./objects.ts";
import { createSecret, deleteSecret, getSecret, patchSecret } from "./secrets.ts";
import { podsInDoubt, problemsIn, type World } from "./sidecar-model.ts";
import {
  createPullSecret,
  dockerConfig,
  injectedLabel,
  injectedListAnnotation,
  literalName,
  type Pod,
  pod,
  pods,
  pullSecretsAnnotation,
  type SidecarSet,
  setPodPhase,
  sidecarSet,
  sidecarSets,
  suffixedName,
} from "./sidecars.ts";
import { whenAdmissionListens } from "./syncs.ts";

interface PodStep {
  readonly do: "create Pod" | "delete Pod" | "finish Pod";
  readonly set: number;
  readonly namespace: number;
}

/** Somebody's own, which names a copy and perhaps claims to have been given it. */
interface UserStep {
  readonly do: "create user" | "forge user" | "delete user";
  readonly source: number;
  readonly namespace: number;
}

interface SetStep {
  readonly do: "delete set" | "pause" | "narrow" | "widen";
  readonly set: number;
}

interface SourceStep {
  readonly do: "edit source" | "delete source" | "veto" | "unveto" | "spoil source";
  readonly source: number;
}

interface CopyStep {
  readonly do: "edit copy" | "delete copy" | "unmark copy" | "plant" | "unplant";
  readonly source: number;
  readonly namespace: number;
  readonly suffixed: boolean;
}

interface ListStep {
  readonly do: "list";
  readonly set: number;
  readonly sources: readonly number[];
}

/** What people do, in any order and without waiting for each other or for the operator. */
export type Step = PodStep | UserStep | SetStep | SourceStep | CopyStep | ListStep;

export interface Ground {
  readonly kube: Kube;
  /** Of the sources. The second begins with the first and `-c`: two sources then share a name of copies. */
  readonly vaults: readonly [string, string];
  /** Of the Pods. */
  readonly teams: readonly [string, string];
}

export const setCount = 2;
export const sourceCount = 3;

/** Some SidecarSets, sources and Pods of one name, and what others do to their copies. */
export class History {
  /** Whether anybody answers admission now. */
  isServed = true;
  readonly sources: readonly string[];
  readonly sets: readonly string[];
  readonly #ground: Ground;
  readonly #name: string;
  readonly #foreign = new Map<string, Secret>();
  readonly #disputed = new Set<string>();
  readonly #unsteady = new Set<string>();
  readonly #hadPods = new Set<string>();
  #edits = 0;

  constructor(ground: Ground, name: string) {
    const [vault, longer] = ground.vaults;
    this.#ground = ground;
    this.#name = name;
    this.sources = [`${vault}/c-${name}`, `${longer}/${name}`, `${vault}/other-${name}`];
    this.sets = ["a", "b"].map((set) => `${name}-${set}`);
  }

  async begin(): Promise<void> {
    const [first, second, ...missing] = this.sources;
    for (const source of [first, second]) await createPullSecret(this.#kube, source ?? "");
    this.#shake(missing, this.#ground.teams);
    await this.run({ do: "list", set: 0, sources: [0, 1] });
    await this.run({ do: "list", set: 1, sources: [1, 2] });
  }

  /** What cannot be done just now is left undone: somebody was quicker, or nobody answers. */
  async run(step: Step): Promise<void> {
    try {
      await this.#do(step);
    } catch (error) {
      const isAway = error instanceof Error && error.message.includes("failed calling webhook");
      if (!isReason(error, "Conflict", "NotFound", "AlreadyExists") && !(isAway && !this.isServed)) throw error;
    }
  }

  /** What is not as the spec says. */
  async problems(): Promise<readonly string[]> {
    return problemsIn(await this.#world());
  }

  /** Takes away what the spec leaves open. */
  async clear(): Promise<void> {
    for (const { metadata } of podsInDoubt(await this.#world())) await this.#kube.delete(pods, metadata);
  }

  async #world(): Promise<World> {
    const { kube, teams } = this.#ground;
    const isOurs = ({ metadata: { name } }: { readonly metadata: { readonly name: string } }) =>
      name.includes(this.#name);
    const inTeams = async <T extends Pod | Secret>(kind: typeof pods) =>
      (await Promise.all(teams.map((namespace) => kube.list<T>(kind, { namespace })))).flat().filter(isOurs);
    const found = await Promise.all(this.sources.map(async (key) => [key, await getSecret(kube, key)] as const));
    return {
      namespaces: teams,
      sets: (await kube.list<SidecarSet>(sidecarSets)).filter(isOurs),
      sources: new Map(found),
      pods: await inTeams<Pod>(pods),
      secrets: await inTeams<Secret>(secrets),
      foreign: this.#foreign,
      hadPods: (namespace) => this.#hadPods.has(namespace),
      wasDisputed: (source, namespace) => this.#disputed.has(`${namespace} ${source}`),
      wasSteady: (source, namespace) => !this.#unsteady.has(`${namespace} ${source}`),
    };
  }

  /** Takes away what asks for copies: then there is nothing left but sources and what is others'. */
  async end(): Promise<void> {
    const { kube, teams } = this.#ground;
    for (const name of this.sets) await kube.delete(sidecarSets, { name });
    for (const namespace of teams) {
      const those = await kube.list<Pod>(pods, { namespace, labelSelector: `history=${this.#name}` });
      for (const { metadata } of those) await kube.delete(pods, metadata);
    }
  }

  /** How many SidecarSets there are now, and which sources they list. */
  async listed(): Promise<{ readonly sets: number; readonly sources: readonly string[] }> {
    const all = await Promise.all(this.sets.map((name) => this.#kube.get<SidecarSet>(sidecarSets, { name })));
    const present = all.filter((set) => set !== undefined);
    const sources = present.flatMap(({ spec }) => spec.imagePullSecrets ?? []);
    return {
      sets: present.length,
      sources: [...new Set(sources.map(({ namespace, name }) => `${namespace}/${name}`))],
    };
  }

  /** Sources that still have a label of ours. */
  async labelled(): Promise<readonly string[]> {
    const found = await Promise.all(this.sources.map((source) => getSecret(this.#kube, source)));
    return found.flatMap((source) => (source?.metadata.labels?.["latchkey.dev/source"] ? [source.metadata.name] : []));
  }

  get #kube(): Kube {
    return this.#ground.kube;
  }

  /** What ends a copy, or keeps it from coming. */
  #note(step: Step): void {
    const breaks = ["delete source", "veto", "spoil source", "delete copy", "unmark copy", "plant"];
    if (!("source" in step) || !breaks.includes(step.do)) return;
    const teams = "namespace" in step ? [this.#team(step.namespace)] : this.#ground.teams;
    this.#shake("suffixed" in step ? this.#sourcesOf(this.#copyKey(step)) : [this.#source(step.source)], teams);
  }

  #shake(sources: readonly string[], namespaces: readonly string[]): void {
    for (const source of sources) for (const namespace of namespaces) this.#unsteady.add(`${namespace} ${source}`);
  }

  /** Whose copy can have this name. */
  #sourcesOf(copy: string): readonly string[] {
    const { name } = at(copy);
    return this.sources.filter((source) => [literalName(source), suffixedName(source)].includes(name));
  }

  async #do(step: Step): Promise<unknown> {
    this.#note(step);
    switch (step.do) {
      case "create Pod":
        this.#hadPods.add(this.#team(step.namespace));
        return this.#createPod(this.#podKey(step), { app: this.#set(step.set) });
      case "delete Pod":
        return this.#kube.delete(pods, at(this.#podKey(step)));
      case "finish Pod":
        return setPodPhase(this.#kube, this.#podKey(step), "Succeeded");
      case "create user":
      case "forge user":
        return this.#createUser(step);
      case "delete user":
        return this.#kube.delete(pods, at(this.#userKey(step)));
      case "list":
        return this.#list(this.#set(step.set), step.sources);
      case "delete set":
        return this.#kube.delete(sidecarSets, { name: this.#set(step.set) });
      case "pause":
        return this.#change(step.set, { injectionStrategy: { paused: true } });
      case "narrow":
        return this.#change(step.set, { namespace: this.#ground.teams[0] });
      case "widen":
        return this.#change(step.set, { namespace: null, injectionStrategy: { paused: false } });
      case "edit source":
        return this.#editSource(this.#source(step.source));
      case "delete source":
        return deleteSecret(this.#kube, this.#source(step.source));
      case "veto":
      case "unveto":
        return this.#annotate(this.#source(step.source), step.do === "veto" ? "true" : null);
      case "spoil source":
        await deleteSecret(this.#kube, this.#source(step.source));
        return createSecret(this.#kube, this.#source(step.source), { v: "no pull secret" });
      case "edit copy":
      case "delete copy":
      case "unmark copy":
        return this.#onCopy(step);
      case "plant":
        return this.#plant(step);
      case "unplant":
        return this.#foreign.delete(this.#copyKey(step)) && deleteSecret(this.#kube, this.#copyKey(step));
    }
  }

  #source = (index: number): string => this.sources[index] ?? "";
  #set = (index: number): string => this.sets[index] ?? "";
  #team = (index: number): string => this.#ground.teams[index] ?? "";

  #podKey({ set, namespace }: PodStep): string {
    return `${this.#team(namespace)}/${this.#set(set)}`;
  }

  #userKey({ source, namespace }: UserStep): string {
    return `${this.#team(namespace)}/user-${this.#name}-${source}`;
  }

  #copyKey({ source, namespace, suffixed }: CopyStep): string {
    const nameOf = suffixed ? suffixedName : literalName;
    return `${this.#team(namespace)}/${nameOf(this.#source(source))}`;
  }

  #createPod(key: string, labels: Readonly<Record<string, string>>, rest: Parameters<typeof pod>[1] = {}) {
    return this.#kube.create<Pod>(pods, pod(key, { ...rest, labels: { ...labels, history: this.#name } }));
  }

  #createUser(step: UserStep) {
    const source = this.#source(step.source);
    const spec = { imagePullSecrets: [{ name: literalName(source) }] };
    if (step.do === "create user") return this.#createPod(this.#userKey(step), {}, { spec });
    const annotations = {
      [injectedListAnnotation]: this.sets.join(","),
      [pullSecretsAnnotation]: `${source}=${literalName(source)}`,
    };
    return this.#createPod(this.#userKey(step), { [injectedLabel]: "true" }, { spec, annotations });
  }

  async #list(name: string, sources: readonly number[]): Promise<void> {
    const pullSecrets = sources.map(this.#source);
    const draft = sidecarSet(name, { pullSecrets });
    const present = await this.#kube.getMetadata(sidecarSets, { name });
    if (present) await this.#patchSet(name, { imagePullSecrets: draft.spec.imagePullSecrets });
    else await this.#writing(() => this.#kube.create<SidecarSet>(sidecarSets, draft));
  }

  #change = (set: number, spec: object): Promise<unknown> => this.#patchSet(this.#set(set), spec);

  #patchSet(name: string, spec: object): Promise<unknown> {
    return this.#writing(() => this.#kube.patch(sidecarSets, { name }, { type: "merge", body: { spec } }));
  }

  /** A webhook that has just moved is worth waiting for, one that is away is not. */
  #writing<T>(write: () => Promise<T>): Promise<T> {
    return this.isServed ? whenAdmissionListens(write) : write();
  }

  async #editSource(source: string): Promise<unknown> {
    const token = `token ${++this.#edits}`;
    const present = await getSecret(this.#kube, source);
    if (!present) return createPullSecret(this.#kube, source, token);
    return patchSecret(this.#kube, source, { data: encoded(dockerConfig("robot", token)) });
  }

  #annotate(source: string, veto: string | null): Promise<unknown> {
    return patchSecret(this.#kube, source, { metadata: { annotations: { "latchkey.dev/no-copy": veto } } });
  }

  /** Only what is a copy at this moment, and as it is at this moment. */
  async #onCopy(step: CopyStep): Promise<void> {
    const key = this.#copyKey(step);
    const copy = await getSecret(this.#kube, key);
    if (!copy || this.#foreign.has(key)) return;
    const { uid, resourceVersion } = copy.metadata;
    if (step.do === "delete copy") return void (await this.#kube.delete(secrets, at(key), { preconditions: { uid } }));
    if (step.do === "edit copy") {
      const data = encoded(dockerConfig("somebody", "by hand"));
      return void (await patchSecret(this.#kube, key, { metadata: { uid, resourceVersion }, data }));
    }
    await this.#unmark(key, copy);
  }

  /** Somebody takes a copy over: from now on it is theirs. */
  async #unmark(key: string, copy: Secret): Promise<void> {
    const { "latchkey.dev/source-hash": _hash, ...labels } = copy.metadata.labels ?? {};
    // One mark less is enough.
    const taken = await this.#kube.replace<Secret>(secrets, { ...copy, metadata: { ...copy.metadata, labels } });
    this.#claim(key, taken);
  }

  async #plant(step: CopyStep): Promise<void> {
    const key = this.#copyKey(step);
    this.#claim(key, await createSecret(this.#kube, key, { theirs: "yes" }, { labels: { theirs: "yes" } }));
  }

  #claim(key: string, foreign: Secret): void {
    this.#foreign.set(key, foreign);
    for (const source of this.#sourcesOf(key)) this.#disputed.add(`${at(key).namespace} ${source}`);
  }
}
