import { Backoffs } from "../runtime/backoffs.ts";
import type { Place } from "./report.ts";

/** What went wrong at one place. */
export interface Trouble {
  readonly verb: "write" | "delete" | "read";
  readonly place: Place;
  /** Of the copy. */
  readonly name: string;
}

/** Beside namespaces, which have no such names: reading the source, and writing our label on it. */
export const reading = "(reading)";
export const labelling = "(labelling)";

/** What somebody refused, by source and namespace: when to try it again. Every replica keeps its own. */
export class Troubles {
  readonly #backoffs = new Backoffs();
  readonly #troubles = new Map<string, Map<string, Trouble>>();

  get(source: string, where: string): Trouble | undefined {
    return this.#troubles.get(source)?.get(where);
  }

  /** A refusal is one of what was tried: whoever may not write may well delete. */
  isDue(source: string, where: string, verb: Trouble["verb"]): boolean {
    return this.get(source, where)?.verb !== verb || this.#backoffs.isDue(keyOf(source, where));
  }

  note(source: string, where: string, trouble: Trouble): void {
    const known = this.#troubles.get(source) ?? new Map<string, Trouble>();
    this.#troubles.set(source, known.set(where, trouble));
    this.#backoffs.failed(keyOf(source, where));
  }

  clear(source: string, where: string): void {
    const known = this.#troubles.get(source);
    known?.delete(where);
    if (known?.size === 0) this.#troubles.delete(source);
    this.#backoffs.clear(keyOf(source, where));
  }

  /** Copies that were not let go, by namespace. */
  keptIn(source: string): ReadonlyMap<string, Place> {
    const kept = [...(this.#troubles.get(source) ?? [])].filter(([, { verb }]) => verb === "delete");
    return new Map(kept.map(([where, { place }]) => [where, place]));
  }

  /** Those that are worth another try now. */
  dueOf(source: string): ReadonlyMap<string, Trouble> {
    return new Map(
      [...(this.#troubles.get(source) ?? [])].filter(([where, { verb }]) => this.isDue(source, where, verb)),
    );
  }

  /** What was due and nobody tried again matters to nobody any more. */
  dropUntried(source: string, due: ReadonlyMap<string, Trouble>): void {
    for (const [where, trouble] of due) if (this.get(source, where) === trouble) this.clear(source, where);
  }

  nextDueMs(source: string): number | undefined {
    return this.#backoffs.nextDueMs(keyOf(source, ""));
  }

  /** The namespace has changed, and with it perhaps what stood in the way. Tells whom that concerns. */
  clearNamespace(namespace: string): readonly string[] {
    const sources = [...this.#troubles].flatMap(([source, known]) => (known.has(namespace) ? [source] : []));
    for (const source of sources) this.clear(source, namespace);
    return sources;
  }
}

const keyOf = (source: string, where: string): string => `${source} ${where}`;
