import { setTimeout as sleep } from "node:timers/promises";
import { statusAnnotation } from "../../api/marks.ts";
import type { Log } from "../../kube/log.ts";
import type { Pass } from "../../runtime/controller.ts";
import type { Announcement } from "../../runtime/outcome.ts";
import { cleanUp, removeInjection } from "./clean-up.ts";
import type { Credentials } from "./credentials.ts";
import type { Fleet } from "./fleet.ts";
import type { Link } from "./link.ts";
import type { Order } from "./order.ts";
import type { Home } from "./session.ts";
import { describeMissingVerb } from "./words.ts";

interface LeavingOptions {
  readonly fleet: Fleet;
  readonly home: Home;
  /** How long a cluster that does not answer is waited for. */
  readonly timeoutMs: number;
  readonly log: Log;
}

interface Left {
  readonly isDone: boolean;
  readonly event?: Announcement;
  readonly recheckAfterMs?: number;
}

const lookAgainMs = 500;
/** Its return is told by its link. */
const unreachedAgainMs = 60_000;
const done: Left = { isDone: true };

/** Takes leave of clusters whose Cluster is deleted. */
export class Leaving {
  readonly #options: LeavingOptions;
  /** Clusters of the original that are being seen off or were, by UID: once is enough. */
  readonly #departing = new Set<string>();

  constructor(options: LeavingOptions) {
    this.#options = options;
  }

  async leave(order: Order, pass: Pass): Promise<Left> {
    const { record } = order;
    if (record.wish.isPaused) {
      return {
        ...done,
        event: warning("CleanupSkipped", "it is paused: what Latchkey made there stays there"),
      };
    }
    const { fleet, timeoutMs, log } = this.#options;
    const link = fleet.ensure(order);
    if (!link) return { isDone: false, recheckAfterMs: lookAgainMs };
    let problem: string | undefined;
    try {
      const isClean = await this.#tryLeaving(link, pass);
      if (isClean) return done;
    } catch (error) {
      if (pass.signal.aborted) throw error;
      problem = describeMissingVerb(error);
      log.debug("a cluster could not be cleaned up, trying again", { cluster: record.metadata.name, error });
    }
    // After a restart it may answer yet.
    if (link.state.kind === "connecting") return { isDone: false, recheckAfterMs: lookAgainMs };
    const leftMs = Date.parse(record.metadata.deletionTimestamp ?? "") + timeoutMs - Date.now();
    if (!(leftMs > 0)) {
      problem ??= "message" in link.state ? link.state.message : "not everything could be removed in time";
      return { ...done, event: warning("CleanupIncomplete", `${problem}; what Latchkey made there stays there`) };
    }
    link.ring();
    return { isDone: false, recheckAfterMs: Math.min(leftMs, lookAgainMs) };
  }

  /**
   * Beside the original: takes back what was made for a Cluster that wants nothing any more, the copies in their time.
   * Without a kubeconfig there is nothing that could be done.
   */
  async leaveUnasked(order: Order, pass: Pass): Promise<Left> {
    const { fleet, home } = this.#options;
    const link = fleet.ensure(order);
    if (link?.state.kind === "no-kubeconfig") return done;
    if (!link?.kube || order.record.wish.isPaused) return { isDone: false, recheckAfterMs: unreachedAgainMs };
    const { session, isHome, isRetired } = link;
    const isEmpty = isHome || session?.replication.copies.by("owner", home.installation.uid).length === 0;
    const isSettled = session?.demand.isSettled && session.replication.copies.isSynced && isEmpty;
    // What has begun goes on, however often it failed.
    const isDone = (isRetired || isSettled === true) && (await this.#tryLeaving(link, pass));
    return { isDone, recheckAfterMs: lookAgainMs };
  }

  /**
   * Beside the original there is no finalizer: one try while the way to the cluster is still known, and we let go. It is
   * looked for anew by a replica that has just come to lead.
   */
  leaveInTime(order: Order): void {
    const { fleet, timeoutMs, log } = this.#options;
    const { record } = order;
    const { name, uid, annotations = {} } = record.metadata;
    const known = fleet.get(name);
    const isServed = known?.order.record.metadata.uid === uid;
    if (this.#departing.has(uid) || !(isServed || annotations[statusAnnotation])) return;
    const link = isServed ? known : fleet.ensure(order);
    if (!link) return;
    this.#departing.add(uid);
    const signal = AbortSignal.timeout(timeoutMs);
    const leave = async () => {
      if (record.wish.isPaused) return;
      while (link.state.kind === "connecting") await sleep(lookAgainMs, undefined, { signal });
      await this.#tryLeaving(link, { signal });
    };
    void leave()
      .catch((error: unknown) => log.warn("a cluster could not be cleaned up", { cluster: name, error }))
      .finally(() => {
        if (fleet.get(name) === link) fleet.release(name);
      });
  }

  forget(uid: string): void {
    this.#departing.delete(uid);
  }

  /** Whether there is nothing left to do. */
  async #tryLeaving(link: Link, { signal }: Pick<Pass, "signal">): Promise<boolean> {
    const { fleet, home } = this.#options;
    // Another one goes on, with everything that is there.
    if (fleet.rivalOf(link) ?? fleet.heirOf(link)) return true;
    if (!link.kube) return false;
    link.retire();
    await link.stopServing();
    const { installation, election } = home;
    const kube = link.kube.fencedBy(() => election.isLeader() && !signal.aborted);
    if (!link.isHome) {
      await cleanUp({ kube, installation, copies: "delete", signal });
      return true;
    }
    await removeInjection({ kube, installation, signal });
    return this.#areCopiesGone(link.order.credentials);
  }

  /** Copies at home go by the passes over their sources; those that others list as well are none of our business. */
  #areCopiesGone({ references }: Credentials): boolean {
    const { asker, pullSecrets } = this.#options.home;
    if (asker.isExpected) return true;
    for (const source of asker.release(references)) pullSecrets.wake(source);
    return ![...pullSecrets.unlisted(asker)].some((source) => asker.withdraws(source));
  }
}

const warning = (reason: string, message: string): Announcement => ({ type: "Warning", reason, message });
