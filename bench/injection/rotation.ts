import { maxFanOutWrites } from "../../src/kube/limiter.ts";
import type { Arena, Write } from "../lib/arena.ts";
import { BareClient } from "../lib/bare.ts";
import type { Compared } from "../lib/comparison.ts";
import { Contents } from "../lib/contents.ts";
import { inParallel } from "../lib/parallel.ts";
import { createPods, deletePods, plainPod, readyNamespaces } from "../lib/pods.ts";
import { changeTwin, createTwin } from "../lib/pull-secret-twins.ts";
import { tellProgress } from "../lib/report.ts";
import {
  changePullSecret,
  checkCopies,
  configKey,
  copyLabel,
  createSets,
  deleteSets,
  pullSecretData,
  sourceOf,
  withLatchkey,
} from "../lib/sidecars.ts";
import { median } from "../lib/stats.ts";
import { settledWrites } from "./settled-writes.ts";

const spaces = 100;
const rounds = 5;

export interface Rotation {
  readonly time: Compared;
  /** The most in any round. */
  readonly secretWrites: number;
  readonly statusWrites: number;
  /** Anything else. */
  readonly otherWrites: number;
}

/** A changed source with copies in 100 namespaces, against a bare client that makes the same writes with as many in flight. */
export async function measureRotation(arena: Arena): Promise<Rotation> {
  const { kube, plane } = arena;
  return withLatchkey(arena, async () => {
    await using bare = new BareClient(plane, maxFanOutWrites);
    await using copies = new Contents(kube, copyLabel, configKey);
    await using twins = new Contents(kube, "bench=bare", configKey);
    await createSets(kube, [0]);
    const namespaces = await readyNamespaces(kube, spaces, "rotation");
    await createPods(
      bare,
      namespaces.map((namespace) => ({ namespace, name: "pod" })),
      8,
      plainPod,
    );
    const versions = new Map<string, string>();
    const { namespace: home } = sourceOf(0);
    for (const namespace of [home, ...namespaces]) {
      versions.set(namespace, await createTwin(bare, namespace, "bare", "before"));
    }
    await Promise.all([copies.synced(), twins.synced()]);
    const ours: number[] = [];
    const theirs: number[] = [];
    const writes: (readonly Write[])[] = [];

    const ourRound = async (mark: string) => {
      const before = (await arena.writes()).length;
      const all = copies.untilAll(spaces, pullSecretData(mark)[configKey]);
      const from = performance.now();
      await changePullSecret(kube, 0, mark);
      ours.push((await all) - from);
      writes.push(await settledWrites(arena, before));
      await checkCopies(kube, namespaces, mark);
    };
    const bareRound = async (mark: string) => {
      const all = twins.untilAll(spaces + 1, pullSecretData(mark)[configKey]);
      const change = async (namespace: string) => {
        const resourceVersion = versions.get(namespace) ?? "";
        versions.set(namespace, await changeTwin(bare, namespace, "bare", { mark, resourceVersion }));
      };
      const from = performance.now();
      // The source first, as it is with Latchkey.
      await change(home);
      await inParallel(namespaces, maxFanOutWrites, change);
      theirs.push((await all) - from);
    };
    for (let round = 0; round < rounds; round++) {
      tellProgress(`changed source: round ${round + 1} of ${rounds}`);
      for (const run of round % 2 === 0 ? [ourRound, bareRound] : [bareRound, ourRound]) await run(`rotation ${round}`);
    }
    await deletePods(bare, namespaces);
    await deleteSets(kube, [0]);
    const most = (counts: (write: Write) => boolean) => Math.max(...writes.map((each) => each.filter(counts).length));
    return {
      time: { what: `changed source, ${spaces} copies: ms`, ours: median(ours), theirs: median(theirs) },
      secretWrites: most(isOfSecret),
      statusWrites: most(isStatus),
      otherWrites: most((write) => !isOfSecret(write) && !isStatus(write)),
    };
  });
}

const isOfSecret = ({ resource }: Write): boolean => resource === "secrets";
const isStatus = ({ resource, subresource }: Write): boolean => resource === "sidecarsets" && subresource === "status";
