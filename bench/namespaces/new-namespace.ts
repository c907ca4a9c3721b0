import { injectLabel } from "../../src/api/marks.ts";
import { namespaces as namespaceKind } from "../../src/api/objects.ts";
import { BareClient } from "../lib/bare.ts";
import { inFlight, servedNamespaces } from "../lib/clusters.ts";
import type { Compared } from "../lib/comparison.ts";
import { Contents } from "../lib/contents.ts";
import { inParallel } from "../lib/parallel.ts";
import { createTwin } from "../lib/pull-secret-twins.ts";
import { tellProgress } from "../lib/report.ts";
import { configKey, copyLabel, pullSecretData } from "../lib/sidecars.ts";
import { percentile } from "../lib/stats.ts";
import type { Ground } from "./ground.ts";

interface Wanted {
  readonly samples: number;
  /** Of the Cluster, and what all their sources hold. */
  readonly references: number;
  readonly mark: string;
}

/** From the answer to the creation of a Namespace until its copies are seen; a bare client creates as many Secrets in it right away. */
export async function measureNewNamespaces(
  { user: { kube, plane } }: Ground,
  { samples, references, mark }: Wanted,
): Promise<{ readonly p50: Compared; readonly p95: Compared }> {
  await using bare = new BareClient(plane, inFlight);
  await using copies = new Contents(kube, copyLabel, configKey);
  await using twins = new Contents(kube, "bench=bare", configKey);
  await Promise.all([copies.synced(), twins.synced()]);
  const value = pullSecretData(mark)[configKey];
  const numbers = [...Array(references).keys()];
  const served = await servedNamespaces(kube);

  const ourSample = async (at: number) => {
    const seen = copies.untilAll(copies.count(value) + references, value);
    await kube.create(namespaceKind, { metadata: { name: `new-${references}-${at}` } });
    const from = performance.now();
    return Math.max(0, (await seen) - from);
  };
  const bareSample = async (at: number) => {
    const name = `bare-${references}-${at}`;
    const seen = twins.untilAll(twins.count(value) + references, value);
    // Opted out: what Latchkey would do in it is not to be measured here.
    await kube.create(namespaceKind, { metadata: { name, labels: { [injectLabel]: "false" } } });
    const from = performance.now();
    await inParallel(numbers, inFlight, (number) => createTwin(bare, name, `bare-${number}`, mark));
    return (await seen) - from;
  };
  tellProgress(`${samples} new namespaces, ${references} ${references === 1 ? "copy" : "copies"} each`);
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let at = 0; at < samples; at++) {
    ours.push(await ourSample(at));
    theirs.push(await bareSample(at));
  }
  copies.check((served.length + samples) * references, value);
  const compare = (unit: string, share: number): Compared => ({
    what: `new namespace, ${references === 1 ? "1 reference" : `${references} references`}: ${unit} ms`,
    ours: percentile(ours, share),
    theirs: percentile(theirs, share),
  });
  return { p50: compare("p50", 0.5), p95: compare("p95", 0.95) };
}
