import { setTimeout as sleep } from "node:timers/promises";
import { secrets } from "../../src/api/objects.ts";
import { BareClient } from "../lib/bare.ts";
import { createCluster, deleteCluster, inFlight } from "../lib/clusters.ts";
import type { Compared } from "../lib/comparison.ts";
import { Contents } from "../lib/contents.ts";
import { inParallel } from "../lib/parallel.ts";
import { createTwin } from "../lib/pull-secret-twins.ts";
import { tellProgress } from "../lib/report.ts";
import { checkCopies, configKey, copyLabel, pullSecretData } from "../lib/sidecars.ts";
import { median } from "../lib/stats.ts";
import { firstMark, type Ground } from "./ground.ts";

const rounds = 5;

interface Times {
  /** From the creation of the Cluster, or the first request. */
  readonly whole: number[];
  /** From the first Secret seen. */
  readonly pass: number[];
}

/** A user cluster that has no copies gets them all, and loses them again, by turns with a bare client that makes the same creates. */
export async function measureFirstSync(ground: Ground): Promise<{ readonly whole: Compared; readonly pass: Compared }> {
  const { arena, user, spaces } = ground;
  const { kube } = user;
  await using copies = new Contents(kube, copyLabel, configKey);
  await using twins = new Contents(kube, "bench=bare", configKey);
  await Promise.all([copies.synced(), twins.synced()]);

  const measure = async (seen: Contents, { whole, pass }: Times, create: () => Promise<unknown>) => {
    const value = pullSecretData(firstMark)[configKey];
    const times = Promise.all([seen.untilAll(1, value), seen.untilAll(spaces.length, value)]);
    const from = performance.now();
    await create();
    const [first, last] = await times;
    whole.push(last - from);
    pass.push(last - first);
  };
  const ours: Times = { whole: [], pass: [] };
  const theirs: Times = { whole: [], pass: [] };
  const ourRound = async () => {
    await measure(copies, ours, () => createCluster(arena.kube, user));
    await checkCopies(kube, spaces, firstMark);
    await deleteCluster(arena.kube, user);
    await copies.untilEmpty();
  };
  const bareRound = async () => {
    // Without connections at first, as Latchkey is: it knows nothing of a cluster before it has a Cluster.
    await using bare = new BareClient(user.plane, inFlight);
    const create = (namespace: string) => createTwin(bare, namespace, "bare", firstMark);
    await measure(twins, theirs, () => inParallel(spaces, inFlight, create));
    await inParallel(spaces, 32, (namespace) => kube.delete(secrets, { namespace, name: "bare" }));
    await twins.untilEmpty();
  };
  for (let round = 0; round < rounds; round++) {
    tellProgress(`first sync: round ${round + 1} of ${rounds}`);
    for (const run of round % 2 === 0 ? [ourRound, bareRound] : [bareRound, ourRound]) {
      await run();
      await sleep(1000);
    }
  }
  const compare = (what: string, of: keyof Times): Compared => ({
    what: `first sync of ${spaces.length} namespaces, from the ${what}: s`,
    ours: median(ours[of]) / 1000,
    theirs: median(theirs[of]) / 1000,
  });
  return { whole: compare("Cluster's creation", "whole"), pass: compare("first copy", "pass") };
}
