import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { type Secret, secrets } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { isReason } from "../../src/kube/errors.ts";
import { testNamespaces } from "../../src/testing/cluster.ts";
import { at, bothStrategies, encoded, type SecretSync, type Strategy, secretSyncs } from "../../src/testing/objects.ts";
import { createSecret, getSecret, patchSecret, theSecret } from "../../src/testing/secrets.ts";
import { changeSync, createSync } from "../../src/testing/syncs.ts";
import { untilCondition, untilGone, untilSecret } from "../../src/testing/wait.ts";

/** What people do, in any order and without waiting for each other or for the operator. */
type Step =
  | { readonly do: "edit source" | "delete source" | "switch source" | "pause" | "unpause" }
  | {
      readonly do: "edit copy" | "delete copy" | "put foreign" | "delete foreign" | "unmark copy";
      readonly slot: number;
    }
  | { readonly do: "choose"; readonly slots: readonly number[] };

const slots = [0, 1, 2, 3];
const slot = fc.constantFrom(...slots);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("edit source" as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("edit copy" as const, "delete copy" as const), slot }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("choose" as const), slots: fc.subarray(slots, { minLength: 1 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("put foreign" as const, "delete foreign" as const), slot }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom("pause" as const, "unpause" as const, "switch source" as const) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete source" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("unmark copy" as const), slot }) },
);

/** A SecretSync with two possible sources and four possible destinations, and what must come of its history. */
class History {
  readonly kube: Kube;
  readonly #vault: string;
  readonly #team: string;
  readonly #prefix: string;
  readonly #foreign = new Map<number, Secret>();
  readonly #sources: (Record<string, string> | undefined)[] = [{ v: "0" }, { v: "other" }];
  #source = 0;
  #chosen: readonly number[] = [0, 1];
  #edits = 0;
  sync!: SecretSync;

  constructor(kube: Kube, vault: string, team: string, prefix: string) {
    this.kube = kube;
    this.#vault = vault;
    this.#team = team;
    this.#prefix = prefix;
  }

  async begin(t: TestContext, strategy: Strategy): Promise<void> {
    await Promise.all(this.#sources.map((values, index) => createSecret(this.kube, this.#sourceKey(index), values)));
    this.sync = await createSync(t, this.kube, this.#sourceKey(0), {
      to: this.#chosen.map((each) => this.#key(each)),
      strategy,
    });
  }

  async run(step: Step): Promise<void> {
    switch (step.do) {
      case "edit source":
        return this.#editSource();
      case "delete source":
        await this.kube.delete(secrets, at(this.#sourceKey(this.#source)));
        this.#sources[this.#source] = undefined;
        return;
      case "switch source":
        this.#source = 1 - this.#source;
        await this.#change({ src: at(this.#sourceKey(this.#source)) });
        return;
      case "pause":
      case "unpause":
        return this.#change({ paused: step.do === "pause" });
      case "choose":
        this.#chosen = step.slots;
        return this.#change({ dest: step.slots.map((each) => at(this.#key(each))) });
      case "edit copy":
        return this.#onCopy(step.slot, (copy) =>
          patchSecret(this.kube, this.#key(step.slot), { ...guard(copy), data: encoded({ v: "by hand" }) }),
        );
      case "delete copy":
        return this.#onCopy(step.slot, ({ metadata: { uid } }) =>
          this.kube.delete(secrets, at(this.#key(step.slot)), { preconditions: { uid } }),
        );
      case "unmark copy":
        return this.#onCopy(step.slot, (copy) => this.#unmark(step.slot, copy));
      case "put foreign":
        return this.#putForeign(step.slot);
      case "delete foreign":
        if (this.#foreign.delete(step.slot)) await this.kube.delete(secrets, at(this.#key(step.slot)));
        return;
    }
  }

  /** The end: unpaused, with a source; then everything is as the spec says. */
  async settle(): Promise<void> {
    await this.#editSource();
    this.sync = await changeSync(this.kube, this.sync, { spec: { paused: false } });
    const values = this.#sources[this.#source] ?? {};
    // A poll does not hear of the source: waking it by a new annotation is the marker.
    await changeSync(this.kube, this.sync, { metadata: { annotations: { woken: "yes" } } });
    const taken = this.#chosen.filter((each) => this.#foreign.has(each));
    const served = this.#chosen.filter((each) => !this.#foreign.has(each));
    for (const each of served) await untilSecret(this.kube, this.#key(each), values);
    for (const each of slots.filter((other) => !this.#chosen.includes(other) && !this.#foreign.has(other))) {
      await untilGone(this.kube, secrets, at(this.#key(each)));
    }
    await untilCondition(this.kube, this.sync, "Sync", { reason: taken.length > 0 ? "Conflict" : "Synced" });
    for (const [each, before] of this.#foreign) assert.deepEqual(await theSecret(this.kube, this.#key(each)), before);
  }

  async end(): Promise<void> {
    await this.kube.delete(secretSyncs, this.sync.metadata);
    await untilGone(this.kube, secretSyncs, this.sync.metadata);
    for (const each of slots) {
      assert.deepEqual(
        await getSecret(this.kube, this.#key(each)),
        this.#foreign.get(each),
        `slot ${each} after the end`,
      );
    }
    for (const index of this.#sources.keys()) {
      const source = await getSecret(this.kube, this.#sourceKey(index));
      assert.deepEqual(source?.data, this.#sources[index] && encoded(this.#sources[index]));
      assert.equal(source?.metadata.labels, undefined);
    }
  }

  #key(each: number): string {
    return `${this.#team}/${this.#prefix}-${each}`;
  }

  #sourceKey(index: number): string {
    return `${this.#vault}/${this.#prefix}-${index}`;
  }

  async #change(spec: object): Promise<void> {
    this.sync = await changeSync(this.kube, this.sync, { spec });
  }

  async #editSource(): Promise<void> {
    const values = { v: `edit ${++this.#edits}` };
    const key = this.#sourceKey(this.#source);
    if (this.#sources[this.#source]) await patchSecret(this.kube, key, { data: encoded(values) });
    else await createSecret(this.kube, key, values);
    this.#sources[this.#source] = values;
  }

  /** Only what is a copy at this moment: the operator may be quicker, then there is nothing to do. */
  async #onCopy(each: number, act: (copy: Secret) => Promise<unknown>): Promise<void> {
    const copy = await getSecret(this.kube, this.#key(each));
    if (!copy || this.#foreign.has(each)) return;
    try {
      await act(copy);
    } catch (error) {
      if (!isReason(error, "Conflict", "NotFound")) throw error;
    }
  }

  async #putForeign(each: number): Promise<void> {
    try {
      this.#foreign.set(
        each,
        await createSecret(this.kube, this.#key(each), { theirs: "yes" }, { labels: { theirs: "yes" } }),
      );
    } catch (error) {
      if (!isReason(error, "AlreadyExists")) throw error;
    }
  }

  /** Somebody takes a copy over: from now on it is theirs. */
  async #unmark(each: number, copy: Secret): Promise<void> {
    const { labels: _l, annotations: _a, ownerReferences: _o, ...metadata } = copy.metadata;
    this.#foreign.set(each, await this.kube.replace<Secret>(secrets, { ...copy, metadata }));
  }
}

const guard = ({ metadata: { uid, resourceVersion } }: Secret) => ({ metadata: { uid, resourceVersion } });

for (const { named, strategy } of bothStrategies) {
  for (const { kind, seed } of [
    { kind: "the usual", seed: 20_261_116 },
    { kind: "another", seed: randomInt(2 ** 31) },
  ]) {
    test(`${named}: any history ends as the spec says, ${kind} seed ${seed}`, async (t) => {
      const { kube, namespaces } = await testNamespaces(t, 2);
      const [vault, team] = namespaces;
      let runs = 0;
      const steps = fc.array(step, { minLength: 4, maxLength: 12 });
      await fc.assert(
        fc.asyncProperty(steps, async (all) => {
          const history = new History(kube, vault, team, `r${runs++}`);
          await history.begin(t, strategy);
          for (const each of all) await history.run(each);
          await history.settle();
          await history.end();
        }),
        // No shrinking: each run talks to a real cluster. The seed and the failing history are printed.
        { seed, numRuns: 5, endOnFailure: true },
      );
    });
  }
}
