import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { type Secret, secrets } from "../api/objects.ts";
import type { Kube } from "../kube/client.ts";
import { endsInitialEvents, watchEvents } from "../kube/watch.ts";
import { testNamespaces } from "./cluster.ts";
import { base64, type SecretSync, secretSyncs } from "./objects.ts";
import { createSecret, setValues, theSecret } from "./secrets.ts";
import { createSync } from "./syncs.ts";
import { untilGone, untilSynced } from "./wait.ts";

const patienceMs = 180_000;
const byName = (name: string) => name.split("-").slice(0, -1).join("-");

export interface FanOutSize {
  readonly syncs?: number;
  readonly copies?: number;
}

/** Several SecretSyncs with many destinations each, and Secrets of somebody else among the copies. */
export class FanOut {
  readonly kube: Kube;
  readonly vault: string;
  readonly team: string;
  readonly syncs: SecretSync[] = [];
  readonly #size: Required<FanOutSize>;
  #bystanders: readonly Secret[] = [];

  private constructor(kube: Kube, vault: string, team: string, size: Required<FanOutSize>) {
    this.kube = kube;
    this.vault = vault;
    this.team = team;
    this.#size = size;
  }

  /** Sources and bystanders; nothing is asked of the operator yet. */
  static async prepare(t: TestContext, { syncs = 3, copies = 32 }: FanOutSize = {}): Promise<FanOut> {
    const { kube, namespaces } = await testNamespaces(t, 2);
    const fanOut = new FanOut(kube, ...namespaces, { syncs, copies });
    await Promise.all(fanOut.#sources().map((key) => createSecret(kube, key, { v: "1" })));
    const keys = ["aaa", "db-0-x", "zzz"].map((name) => `${fanOut.team}/${name}`);
    fanOut.#bystanders = await Promise.all(keys.map((key) => createSecret(kube, key, { theirs: key })));
    return fanOut;
  }

  async begin(t: TestContext): Promise<void> {
    const { kube, team } = this;
    const { copies } = this.#size;
    const created = this.#sources().map((source, index) => {
      const to = Array.from({ length: copies }, (_, each) => `${team}/db-${index}-${each}`);
      return createSync(t, kube, source, { to });
    });
    this.syncs.push(...(await Promise.all(created)));
  }

  async change(v: string): Promise<void> {
    await Promise.all(this.#sources().map((key) => setValues(this.kube, key, { v })));
  }

  async remove(): Promise<void> {
    await Promise.all(this.syncs.map(({ metadata }) => this.kube.delete(secretSyncs, metadata)));
  }

  /** Every copy holds the value and has one owner, the right one; and there is nothing else. */
  async settled(v: string): Promise<void> {
    const { syncs, copies } = this.#size;
    const isCurrent = ({ data }: Secret) => data?.v === base64(v);
    const all = await untilSecrets(this.kube, this.team, `${syncs * copies} copies hold ${v}`, (found) => {
      return found.values().filter(isCurrent).toArray().length >= syncs * copies;
    });
    assert.equal(all.size, syncs * copies + this.#bystanders.length, "nothing but the copies and what was there first");
    await Promise.all(this.syncs.map((sync) => untilSynced(this.kube, sync)));
    for (const [index, sync] of this.syncs.entries()) {
      const own = all.values().filter(({ metadata }) => byName(metadata.name) === `db-${index}` && metadata.labels);
      for (const { metadata } of own) {
        assert.deepEqual(
          metadata.ownerReferences?.map(({ uid, controller }) => ({ uid, controller })),
          [{ uid: sync.metadata.uid, controller: true }],
          metadata.name,
        );
      }
      const source = await theSecret(this.kube, `${this.vault}/db-${index}`);
      assert.deepEqual(source.metadata.labels, { "latchkey.dev/source": "true" });
    }
    await this.#bystandersAreUntouched();
  }

  /** Everything is as before `begin`. */
  async gone(): Promise<void> {
    await Promise.all(this.syncs.map(({ metadata }) => untilGone(this.kube, secretSyncs, metadata)));
    const left = await this.kube.list<Secret>(secrets, { namespace: this.team });
    assert.deepEqual(
      left.map(({ metadata }) => metadata.name).sort(),
      this.#bystanders.map(({ metadata }) => metadata.name).sort(),
    );
    await this.#bystandersAreUntouched();
    for (const key of this.#sources()) assert.equal((await theSecret(this.kube, key)).metadata.labels, undefined);
  }

  async #bystandersAreUntouched(): Promise<void> {
    for (const before of this.#bystanders) {
      assert.deepEqual(await theSecret(this.kube, `${this.team}/${before.metadata.name}`), before);
    }
  }

  #sources(): string[] {
    return Array.from({ length: this.#size.syncs }, (_, index) => `${this.vault}/db-${index}`);
  }
}

/** Resolves with all Secrets of a namespace once they are accepted; watches, through any fault. */
export async function untilSecrets(
  kube: Kube,
  namespace: string,
  what: string,
  accept: (all: ReadonlyMap<string, Secret>) => boolean,
): Promise<ReadonlyMap<string, Secret>> {
  const signal = AbortSignal.timeout(patienceMs);
  let all = new Map<string, Secret>();
  let lastError: unknown;
  while (!signal.aborted) {
    all = new Map();
    let isComplete = false;
    try {
      for await (const event of watchEvents(kube, secrets, { namespace, sendInitialEvents: true }, { signal })) {
        const { name } = event.object.metadata;
        if (event.type === "DELETED") all.delete(name);
        else if (event.type !== "BOOKMARK") all.set(name, event.object as Secret);
        isComplete ||= endsInitialEvents(event);
        if (isComplete && accept(all)) return all;
      }
    } catch (error) {
      lastError = error;
    }
    if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const seen = [...all.values()].map(({ metadata, data }) => `${metadata.name}: ${data?.v}`).join(", ");
  throw new Error(`waited ${patienceMs / 1000} s in vain: ${what} in ${namespace}; last seen: ${seen}`, {
    cause: lastError,
  });
}
