import { pullSecretsManager } from "../api/marks.ts";
import { keyOf } from "../api/objects.ts";
import { FairLimiter } from "../kube/limiter.ts";
import { span } from "../kube/trace.ts";
import { Follows } from "../replication/follows.ts";
import { Propagation } from "../replication/propagation.ts";
import type { Outcome } from "../runtime/outcome.ts";
import type { KeyedPass } from "../runtime/run-keyed.ts";
import { copyingFor, type Ground } from "./ground.ts";
import { Memory } from "./memory.ts";
import { parseSource, sourceOf } from "./ours.ts";
import { passOver } from "./pass.ts";
import { subscribeWakes } from "./wakes.ts";

const maxLooks = 8;

/** From coming to lead to standing by: what wakes sources, and what passes remember. */
export class Term {
  readonly memory = new Memory();
  readonly wake: (source: string) => void;
  readonly #ground: Ground;
  readonly #follows: Follows;
  readonly #propagation = new Propagation();
  readonly #looks = new FairLimiter({ limit: maxLooks });
  readonly #stops: readonly (() => void)[];
  readonly #running = new Set<string>();
  #isOver = false;

  constructor(ground: Ground, wake: (source: string) => void) {
    this.wake = wake;
    this.#ground = ground;
    this.#follows = new Follows(ground.replication.names);
    const { reports } = this.memory;
    // Others follow nothing by name: they hear of it here, be it news for us or not.
    const onFollowed = (source: string) => {
      ground.askers.tell(source);
      wake(source);
    };
    const onContent = (source: string) => this.#propagation.begin(source);
    this.#stops = [this.#follows.onChange(onFollowed), subscribeWakes({ ...ground, reports, onContent, wake })];
  }

  /** Where there may be something to do when a term begins. */
  sources(): ReadonlySet<string> {
    const { replication, installation, askers, home } = this.#ground;
    const copied = replication.copies
      .by("owner", installation.uid)
      .flatMap((copy) => sourceOf(copy, installation) ?? []);
    const labelled = home
      ? []
      : replication.sources.by("manager", pullSecretsManager).map(({ metadata }) => keyOf(metadata));
    return new Set([...askers.sources(), ...copied.map(keyOf), ...labelled]);
  }

  async pass(key: string, pass: KeyedPass): Promise<Pick<Outcome, "recheckAfterMs" | "retry">> {
    const source = parseSource(key);
    if (!source) return {};
    const { kube, signal } = pass;
    const copying = copyingFor(this.#ground, { kube, source: key, turn: key, signal });
    const kept = { memory: this.memory, follows: this.#follows, propagation: this.#propagation, looks: this.#looks };
    this.#running.add(key);
    try {
      return await span(`${this.#ground.askers.featureOf(key)}.pass`, { source: key }, () =>
        passOver({ ...this.#ground, ...pass, ...kept, source, key, copying }),
      );
    } finally {
      this.#running.delete(key);
      // Another term may have begun meanwhile, and nobody ends this one again.
      if (this.#isOver) this.end();
    }
  }

  /** A copy that the last pass told of has been looked after, unless another pass is under way that may have overlooked it. */
  noteWanted(key: string, namespace: string): void {
    this.memory.endIdleness(key, namespace);
    const isKnown = this.memory.reports.get(key)?.places.get(namespace)?.kind === "copied";
    if (!isKnown || this.#running.has(key)) this.wake(key);
  }

  end(): void {
    this.#isOver = true;
    for (const stop of this.#stops) stop();
  }
}
