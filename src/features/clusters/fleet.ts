import { byAge } from "./credentials.ts";
import { Link, type LinkOptions } from "./link.ts";
import type { Order } from "./order.ts";

type FleetOptions = Omit<LinkOptions, "mayServe" | "onChange">;

/** What comes together is told together: one status for a namespace and its copies. */
const tellAfterMs = 300;

/** All user clusters, each on its own. They are served while this replica leads. */
export class Fleet implements AsyncDisposable {
  readonly #options: FleetOptions;
  readonly #links = new Map<string, Link>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #closing = new Set<Promise<void>>();
  #wake: ((name: string) => void) | undefined;

  constructor(options: FleetOptions) {
    this.#options = options;
  }

  /** From coming to lead until the returned function is called. */
  begin(wake: (name: string) => void): () => void {
    this.#wake = wake;
    return () => {
      this.#wake = undefined;
      for (const name of [...this.#links.keys()]) this.release(name);
    };
  }

  get links(): Iterable<Link> {
    return this.#links.values();
  }

  get(name: string): Link | undefined {
    return this.#links.get(name);
  }

  /** The link of this Cluster, which goes by this order from now on; undefined on a replica that does not lead. */
  ensure(order: Order): Link | undefined {
    if (!this.#wake) return undefined;
    const { name, uid } = order.record.metadata;
    const known = this.#links.get(name);
    if (known?.order.record.metadata.uid === uid) {
      known.update(order);
      return known;
    }
    if (known) this.release(name);
    const link = new Link(order, {
      ...this.#options,
      mayServe: (each) => this.rivalOf(each) === undefined,
      onChange: (each) => this.#onChange(each),
    });
    this.#links.set(name, link);
    return link;
  }

  /** Nobody serves this Cluster any more. */
  release(name: string): void {
    const link = this.#links.get(name);
    if (!link) return;
    this.#links.delete(name);
    clearTimeout(this.#timers.get(name));
    this.#timers.delete(name);
    const closing = link[Symbol.asyncDispose]().finally(() => {
      this.#closing.delete(closing);
      // Whoever waited for this one's cluster may have it now.
      for (const other of this.#links.values()) if (isSameCluster(link, other)) this.#tell(other, true);
    });
    this.#closing.add(closing);
  }

  /** The older Cluster that leads to the same cluster and is served instead. */
  rivalOf(link: Link): Link | undefined {
    const rivals = [...this.#links.values()].filter((other) => other !== link && isSameCluster(link, other));
    const older = rivals.filter((other) => byAge(other.order.record, link.order.record) < 0);
    return older.toSorted((a, b) => byAge(a.order.record, b.order.record))[0];
  }

  /** A younger Cluster that takes over the cluster of this one, with everything that is there. */
  heirOf(link: Link): Link | undefined {
    const isStaying = ({ order }: Link) => order.record.metadata.deletionTimestamp === undefined;
    return [...this.#links.values()].find((other) => isSameCluster(link, other) && other.isWaiting && isStaying(other));
  }

  /** A source has changed: every cluster that has or wants copies looks at it. */
  wakeSource(source: string): void {
    for (const { session, isHome } of this.#links.values()) if (!isHome) session?.pullSecrets.wake(source);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of [...this.#links.keys()]) this.release(name);
    await Promise.all(this.#closing);
  }

  #onChange(link: Link): void {
    const { name } = link.order.record.metadata;
    if (this.#links.get(name) !== link) return;
    for (const other of this.#links.values()) {
      // Who is the older one may just have turned out; or the older one has gone to another cluster.
      if (isSameCluster(link, other)) this.#tell(other, true);
      else if (other.isWaiting && !this.rivalOf(other)) other.ring();
    }
    this.#tell(link);
  }

  #tell(link: Link, isToRing = false): void {
    const { name } = link.order.record.metadata;
    if (isToRing && (this.rivalOf(link) !== undefined) === (link.session !== undefined)) link.ring();
    if (this.#timers.has(name)) return;
    const timer = setTimeout(() => {
      this.#timers.delete(name);
      this.#wake?.(name);
    }, tellAfterMs);
    this.#timers.set(name, timer);
  }
}

const isSameCluster = (a: Link, b: Link): boolean =>
  a !== b && a.identity !== undefined && a.identity.id === b.identity?.id;
