import { BareClient } from "../lib/bare.ts";
import { inFlight } from "../lib/clusters.ts";
import { Contents } from "../lib/contents.ts";
import { inParallel } from "../lib/parallel.ts";
import { changeTwin, createTwin } from "../lib/pull-secret-twins.ts";
import { configKey, pullSecretData, sourceOf } from "../lib/sidecars.ts";
import { firstMark, type Ground, type Member } from "./ground.ts";

/** Where one twin is, and its version. */
interface Twin {
  readonly namespace: string;
  version: string;
}

interface Place {
  readonly bare: BareClient;
  readonly twins: readonly Twin[];
  /** Undefined where nobody looks when it has arrived. */
  readonly seen: Contents | undefined;
}

/** What bare clients, one for each cluster, write in place of copies. */
export class Twins implements AsyncDisposable {
  readonly #source: Place;
  readonly #places: readonly Place[];
  #count = 0;

  private constructor(source: Place, places: readonly Place[]) {
    this.#source = source;
    this.#places = places;
  }

  static async create({ arena, all, healthy }: Ground): Promise<Twins> {
    const source = await placeOf(new BareClient(arena.plane, 1), [sourceOf(0).namespace], undefined);
    const place = async (member: Member) => {
      const seen = healthy.includes(member) ? new Contents(member.kube, "bench=bare", configKey) : undefined;
      return placeOf(new BareClient(member.plane, inFlight), member.spaces, seen);
    };
    return new Twins(source, await Promise.all(all.map(place)));
  }

  /** The source first, as it is with Latchkey; then all clusters at once. Until the healthy ones have it. */
  async round(): Promise<number> {
    const mark = `bare ${this.#count++}`;
    const value = pullSecretData(mark)[configKey];
    const seen = Promise.all(this.#places.flatMap(({ seen, twins }) => seen?.untilAll(twins.length, value) ?? []));
    const from = performance.now();
    await changeAll(this.#source, mark);
    await Promise.all(this.#places.map((place) => changeAll(place, mark)));
    return Math.max(...(await seen)) - from;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { bare, seen } of [this.#source, ...this.#places]) {
      await seen?.[Symbol.asyncDispose]();
      await bare[Symbol.asyncDispose]();
    }
  }
}

async function placeOf(bare: BareClient, spaces: readonly string[], seen: Contents | undefined): Promise<Place> {
  const twins: Twin[] = [];
  for (const namespace of spaces) {
    twins.push({ namespace, version: await createTwin(bare, namespace, "bare", firstMark) });
  }
  await seen?.synced();
  return { bare, twins, seen };
}

async function changeAll({ bare, twins }: Place, mark: string): Promise<void> {
  await inParallel(twins, inFlight, async (twin) => {
    twin.version = await changeTwin(bare, twin.namespace, "bare", { mark, resourceVersion: twin.version });
  });
}
