import { keyOf, type NamespacedRef, namespaceOf } from "../api/objects.ts";
import type { Kube } from "../kube/client.ts";
import type { Log } from "../kube/log.ts";
import type { Owner } from "../ownership/holder.ts";
import type { CopyRecord } from "../replication/copy.ts";
import type { Replication } from "../replication/replication.ts";
import type { KeyedWorker } from "../runtime/run-keyed.ts";
import type { Asker } from "./asker.ts";
import { Askers } from "./askers.ts";
import { type Ground, isReady } from "./ground.ts";
import { copyIn, isStaying, sourceOf } from "./ours.ts";
import type { Report } from "./report.ts";
import type { Resolution } from "./resolution.ts";
import { type ResolveOptions, Resolver } from "./resolve.ts";
import { Term } from "./term.ts";
import { Troubles } from "./troubles.ts";

export type { Resolution } from "./resolution.ts";

interface PullSecretsOptions {
  /** Not fenced: every replica may make a copy that a Pod needs. */
  readonly kube: Kube;
  readonly replication: Replication;
  readonly installation: Owner;
  readonly log: Log;
  /** Where the sources are, if that is another cluster. */
  readonly home?: Kube;
}

/** The copies of pull secrets that a whole installation shares, whoever asks for them. */
export class PullSecrets implements AsyncDisposable {
  /** Passes over sources; to be run while there are askers. */
  readonly worker: KeyedWorker;
  readonly #ground: Ground;
  readonly #resolver: Resolver;
  readonly #stop: () => void;
  #term: Term | undefined;

  constructor({ kube, replication, installation, log, home }: PullSecretsOptions) {
    const troubles = new Troubles();
    const askers = new Askers();
    this.#ground = { replication, installation, askers, troubles, home };
    this.#resolver = new Resolver(this.#ground, { kube, log, wake: (source) => this.wake(source) });
    this.worker = this.#workerOver(replication);
    // On a standby too: its reviews try again.
    this.#stop = replication.namespaces.subscribe(({ key }) => {
      for (const source of troubles.clearNamespace(key)) this.wake(source);
    });
  }

  addAsker(asker: Asker): void {
    this.#ground.askers.add(asker);
  }

  get hasAskers(): boolean {
    return !this.#ground.askers.isEmpty;
  }

  /** Something about a source has changed. Whoever comes to lead looks at all of them. */
  wake(source: string): void {
    this.#term?.wake(source);
  }

  /** Everything that is wanted, and everything that is there. */
  wakeAll(): void {
    for (const source of this.#term?.sources() ?? []) this.wake(source);
  }

  /** Somebody needs the copy that is there. */
  noteWanted(source: string, namespace: string): void {
    this.#term?.noteWanted(source, namespace);
  }

  /** Known to the leader. */
  reportOf(source: string): Report | undefined {
    return this.#term?.memory.reports.get(source);
  }

  reports(): Iterable<readonly [source: string, report: Report]> {
    return this.#term?.memory.reports ?? [];
  }

  /** Sources that nobody lists besides this one, of copies that are there and not going anyway. */
  unlisted(except?: Asker): ReadonlySet<string> {
    const { replication, installation, askers } = this.#ground;
    const copies = replication.copies.by("owner", installation.uid).filter(isStaying);
    const lasting = copies.filter((copy) => isReady(namespaceOf(copy), this.#ground));
    const sources = new Set(lasting.flatMap((copy) => sourceOf(copy, installation) ?? []).map(keyOf));
    return new Set([...sources].filter((source) => !askers.lists(source, except)));
  }

  /** The copy that counts there, if the cache has one. */
  copyIn(source: NamespacedRef, namespace: string): CopyRecord | undefined {
    return copyIn(source, namespace, this.#ground);
  }

  resolve(source: NamespacedRef, namespace: string, options: ResolveOptions): Promise<Resolution> {
    return this.#resolver.resolve(source, namespace, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop();
    await this.#resolver[Symbol.asyncDispose]();
  }

  #workerOver({ copies, sources, namespaces }: Replication): KeyedWorker {
    return {
      name: "pull-secrets",
      caches: [copies, sources, namespaces, this.#ground.askers],
      begin: (wake) => {
        const term = new Term(this.#ground, wake);
        this.#term = term;
        return () => {
          term.end();
          if (this.#term === term) this.#term = undefined;
        };
      },
      keys: () => this.#term?.sources() ?? [],
      pass: async (key, pass) => (await this.#term?.pass(key, pass)) ?? {},
    };
  }
}
