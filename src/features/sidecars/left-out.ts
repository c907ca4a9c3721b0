import { keyOf, type NamespacedRef, secrets } from "../../api/objects.ts";
import { allOf } from "../../kube/all-of.ts";
import type { Call, Kube } from "../../kube/client.ts";
import { FairLimiter } from "../../kube/limiter.ts";
import { candidatesOf } from "../../pullsecrets/names.ts";
import type { PullSecrets } from "../../pullsecrets/pull-secrets.ts";
import { Backoffs } from "../../runtime/backoffs.ts";
import { placeOf } from "./pod-record.ts";
import type { Tally } from "./tally.ts";

/** A namespace with Pods that were given no copy of a source. */
interface Lack {
  readonly source: NamespacedRef;
  readonly namespace: string;
  /** UID of the last such Pod. */
  readonly pod: string;
}

interface Looked {
  readonly pod: string;
  /** All names that a copy can have are somebody else's. */
  readonly isHeld: boolean;
  /** The last look failed: that is what was known before. */
  readonly isOpen?: boolean;
}

interface Looking extends Call {
  readonly kube: Pick<Kube, "getMetadata">;
  readonly pullSecrets: Pick<PullSecrets, "copyIn">;
}

const maxLooks = 8;

/**
 * Why Pods were given no copy: where both names are held by others, admission leaves the reference out, and nothing but
 * another look tells. Other reasons are told elsewhere.
 */
export class LeftOut {
  /** By the UID of a SidecarSet, then by place. */
  readonly #looked = new Map<string, ReadonlyMap<string, Looked>>();
  readonly #backoffs = new Backoffs();
  readonly #limiter = new FairLimiter({ limit: maxLooks });

  /** The places where that is so, by `placeOf`. */
  async look(uid: string, tallies: readonly Tally[], looking: Looking): Promise<ReadonlySet<string>> {
    const lacks = tallies.flatMap(({ reference: source, lacking }) =>
      [...lacking].map(([namespace, pod]): Lack => ({ source, namespace, pod })),
    );
    const before = this.#looked.get(uid) ?? new Map<string, Looked>();
    const pairs = await allOf(
      lacks.map(async (lack) => {
        const place = placeIn(lack);
        return [place, await this.#lookOnce(uid, lack, before.get(place), looking)] as const;
      }),
    );
    const now = new Map(pairs);
    for (const place of before.keys()) if (!now.has(place)) this.#backoffs.clear(`${uid} ${place}`);
    if (now.size > 0) this.#looked.set(uid, now);
    else this.#looked.delete(uid);
    return this.held(uid);
  }

  /** What the last look found. */
  held(uid: string): ReadonlySet<string> {
    return new Set([...(this.#looked.get(uid) ?? [])].flatMap(([place, { isHeld }]) => (isHeld ? [place] : [])));
  }

  nextDueMs(uid: string): number | undefined {
    return this.#backoffs.nextDueMs(`${uid} `);
  }

  /** Something about a namespace has changed. Tells whether anything is to be looked at again. */
  retry(namespace: string): boolean {
    const held = [...this.#looked].flatMap(([uid, looked]) =>
      [...looked].flatMap(([place, { isHeld, isOpen }]) =>
        (isHeld || isOpen) && place.startsWith(`${namespace} `) ? [`${uid} ${place}`] : [],
      ),
    );
    for (const key of held) this.#backoffs.clear(key);
    return held.length > 0;
  }

  forget(uid: string): void {
    for (const key of this.#looked.get(uid)?.keys() ?? []) this.#backoffs.clear(`${uid} ${key}`);
    this.#looked.delete(uid);
  }

  async #lookOnce(uid: string, lack: Lack, known: Looked | undefined, looking: Looking): Promise<Looked> {
    const key = `${uid} ${placeIn(lack)}`;
    const isSettled = !known?.isHeld && !known?.isOpen;
    if (known?.pod === lack.pod && (isSettled || !this.#backoffs.isDue(key))) return known;
    const isHeld = await this.#limiter.run(uid, () => areNamesHeld(lack, looking), looking).catch(unlessOver);
    if (isHeld === false) this.#backoffs.clear(key);
    else this.#backoffs.failed(key);
    return isHeld === undefined
      ? { pod: lack.pod, isHeld: known?.isHeld ?? false, isOpen: true }
      : { pod: lack.pod, isHeld };

    /** One namespace that cannot be looked at must not keep the rest from being told. */
    function unlessOver(error: unknown): undefined {
      if (looking.signal?.aborted) throw error;
    }
  }
}

const placeIn = ({ source, namespace }: Lack): string => placeOf(namespace, keyOf(source));

async function areNamesHeld({ source, namespace }: Lack, { kube, pullSecrets, signal }: Looking): Promise<boolean> {
  for (const name of candidatesOf(source)) {
    if (pullSecrets.copyIn(source, namespace)) return false;
    if (!(await kube.getMetadata(secrets, { namespace, name }, { signal }))) return false;
  }
  return !pullSecrets.copyIn(source, namespace);
}
