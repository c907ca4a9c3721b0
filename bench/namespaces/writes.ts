import { setTimeout as sleep } from "node:timers/promises";
import { namespaces as namespaceKind } from "../../src/api/objects.ts";
import { operatorWrites, type Write } from "../lib/arena.ts";
import { createCluster } from "../lib/clusters.ts";
import { Contents } from "../lib/contents.ts";
import { type Target, tellProgress } from "../lib/report.ts";
import { changePullSecret, checkCopies, configKey, copyLabel, pullSecretData, withLatchkey } from "../lib/sidecars.ts";
import { firstMark, type Ground } from "./ground.ts";

const newNamespaces = 10;
const idleMs = 60_000;
/** For all that follows from a change, the status included. */
const settleMs = 5_000;

/** The operator's writes, on either side. */
interface Writes {
  readonly home: readonly Write[];
  readonly user: readonly Write[];
}

/** What is written for a first pass, a changed source, a new namespace, and when nothing happens. Needs audit logs. */
export async function countWrites(ground: Ground): Promise<readonly Target[]> {
  const { arena, user, spaces } = ground;
  return withLatchkey(arena, async () => {
    await using copies = new Contents(user.kube, copyLabel, configKey);
    await copies.synced();
    const during = async (count: number, mark: string, act: () => Promise<unknown>, waitMs = settleMs) => {
      const before = await writesOf(ground);
      const all = copies.untilAll(count, pullSecretData(mark)[configKey]);
      await act();
      await all;
      await sleep(waitMs);
      return since(before, await writesOf(ground));
    };
    tellProgress("counting writes");
    const { length } = spaces;
    const first = await during(length, firstMark, () => createCluster(arena.kube, user));
    const rotation = await during(length, "after", () => changePullSecret(arena.kube, 0, "after"));
    const added: Writes[] = [];
    const names = Array.from({ length: newNamespaces }, (_, at) => `new-${at}`);
    for (const [at, name] of names.entries()) {
      const create = () => user.kube.create(namespaceKind, { metadata: { name } });
      added.push(await during(length + at + 1, "after", create));
    }
    tellProgress("waiting for a minute");
    const idle = await during(length + newNamespaces, "after", async () => {}, idleMs);
    await checkCopies(user.kube, [...spaces, ...names], "after");
    return targetsOf(length, { first, rotation, added, idle });
  });
}

interface Counted {
  readonly first: Writes;
  readonly rotation: Writes;
  readonly added: readonly Writes[];
  readonly idle: Writes;
}

/** All copies were right afterwards, so fewer writes than copies cannot have been. */
function targetsOf(copies: number, { first, rotation, added, idle }: Counted): readonly Target[] {
  const most = (of: (writes: Writes) => number) => Math.max(...added.map(of));
  const target = (promise: string, measured: number, atMost: number): Target => ({ promise, measured, atMost });
  return [
    target(`first pass: writes of ${copies} copies`, first.user.filter(isOfSecret).length, copies),
    target("first pass: status writes", first.home.filter(isStatus).length, 5),
    target(`changed source: writes of ${copies} copies`, rotation.user.filter(isOfSecret).length, copies),
    target("changed source: writes of injection objects", rotation.user.filter(isOther).length, 0),
    target("changed source: status writes", rotation.home.filter(isStatus).length, 1),
    target(
      "new namespace: writes in the user cluster",
      most(({ user }) => user.length),
      1,
    ),
    target(
      "new namespace: status writes",
      most(({ home }) => home.filter(isStatus).length),
      1,
    ),
    target("idle for a minute: writes", idle.home.length + idle.user.length, 0),
  ];
}

const writesOf = async ({ arena, user }: Ground): Promise<Writes> => ({
  home: await arena.writes(),
  user: await operatorWrites(user.plane),
});

const since = (before: Writes, after: Writes): Writes => ({
  home: after.home.slice(before.home.length),
  user: after.user.slice(before.user.length),
});

const isOfSecret = ({ resource }: Write): boolean => resource === "secrets";
const isOther = (write: Write): boolean => !isOfSecret(write);
const isStatus = ({ resource, subresource }: Write): boolean => resource === "clusters" && subresource === "status";
