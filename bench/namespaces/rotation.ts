import { BareClient } from "../lib/bare.ts";
import { inFlight } from "../lib/clusters.ts";
import type { Compared } from "../lib/comparison.ts";
import { Contents } from "../lib/contents.ts";
import { inParallel } from "../lib/parallel.ts";
import { changeTwin, createTwin } from "../lib/pull-secret-twins.ts";
import { tellProgress } from "../lib/report.ts";
import { changePullSecret, checkCopies, configKey, copyLabel, pullSecretData, sourceOf } from "../lib/sidecars.ts";
import { median } from "../lib/stats.ts";
import { firstMark, type Ground } from "./ground.ts";

const rounds = 5;
/** What the source holds afterwards. */
export const lastMark = `rotation ${rounds - 1}`;

/** A changed source of a Cluster that is served, against a bare client that makes the same writes with as many in flight. */
export async function measureRotation({ arena, user, spaces }: Ground): Promise<Compared> {
  await using atHome = new BareClient(arena.plane, 1);
  await using bare = new BareClient(user.plane, inFlight);
  await using copies = new Contents(user.kube, copyLabel, configKey);
  await using twins = new Contents(user.kube, "bench=bare", configKey);
  const { namespace: home } = sourceOf(0);
  const versions = new Map<string, string>();
  let sourceVersion = await createTwin(atHome, home, "bare", firstMark);
  await inParallel(spaces, inFlight, async (namespace) => {
    versions.set(namespace, await createTwin(bare, namespace, "bare", firstMark));
  });
  await Promise.all([copies.synced(), twins.synced()]);
  const ours: number[] = [];
  const theirs: number[] = [];

  const ourRound = async (mark: string) => {
    const all = copies.untilAll(spaces.length, pullSecretData(mark)[configKey]);
    const from = performance.now();
    await changePullSecret(arena.kube, 0, mark);
    ours.push((await all) - from);
    await checkCopies(user.kube, spaces, mark);
  };
  const bareRound = async (mark: string) => {
    const all = twins.untilAll(spaces.length, pullSecretData(mark)[configKey]);
    const from = performance.now();
    // The source first, as it is with Latchkey.
    sourceVersion = await changeTwin(atHome, home, "bare", { mark, resourceVersion: sourceVersion });
    await inParallel(spaces, inFlight, async (namespace) => {
      const resourceVersion = versions.get(namespace) ?? "";
      versions.set(namespace, await changeTwin(bare, namespace, "bare", { mark, resourceVersion }));
    });
    theirs.push((await all) - from);
  };
  for (let round = 0; round < rounds; round++) {
    tellProgress(`changed source: round ${round + 1} of ${rounds}`);
    for (const run of round % 2 === 0 ? [ourRound, bareRound] : [bareRound, ourRound]) await run(`rotation ${round}`);
  }
  return {
    what: `changed source, ${spaces.length} copies: s`,
    ours: median(ours) / 1000,
    theirs: median(theirs) / 1000,
  };
}
