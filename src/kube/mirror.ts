import { type KubeObject, keyOf } from "../api/objects.ts";
import { compareVersions, isLater, isSameState } from "./resource-version.ts";
import { type Indexes, Store } from "./store.ts";

/** What became of one object; `before` is undefined for a new one, `after` for one that is gone. */
export interface Change<T> {
  readonly key: string;
  readonly before: T | undefined;
  readonly after: T | undefined;
}

/** What the server told about one object; without `object` it is gone, or no longer among those selected. */
export interface News<T> {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly object: T | undefined;
}

/** Our own writes to one object that the stream has not confirmed yet. */
interface Unconfirmed<T> {
  /** The object before the first of them: what listeners last knew of. */
  readonly before: T | undefined;
  /** resourceVersions that answered our writes. */
  readonly writes: Set<string>;
  /** Uids we deleted. */
  readonly deletes: Set<string>;
}

/** News about one object kept back while a write of ours to it is under way. */
interface Hold<T> {
  writers: number;
  /** How far the stream was when it began. */
  readonly since: string | undefined;
  readonly news: News<T>[];
}

/**
 * The objects of the server as a stream of news and the answers of our own writes tell them. It decides and does no
 * I/O: each method returns the changes that listeners must hear of. Our own writes are none of them, every change by
 * somebody else is one, and where the two cannot be told apart there is one change too many rather than too few.
 *
 * It counts on one thing: the server tells news in the order of their resourceVersions, leaving none out.
 */
export class Mirror<T extends KubeObject> {
  readonly store: Store<T>;
  /** Everything up to this resourceVersion has been told. */
  #seen: string | undefined;
  readonly #unconfirmed = new Map<string, Unconfirmed<T>>();
  readonly #holds = new Map<string, Hold<T>>();

  constructor(indexes?: Indexes<T>) {
    this.store = new Store(indexes);
  }

  observe(news: News<T>): readonly Change<T>[] {
    this.#advance(news.resourceVersion);
    const hold = this.#holds.get(news.key);
    if (!hold) return this.#take(news);
    hold.news.push(news);
    return [];
  }

  /** The server has told everything up to here (a bookmark). */
  reached(resourceVersion: string): void {
    this.#advance(resourceVersion);
    for (const key of [...this.#unconfirmed.keys()]) if (!this.#holds.has(key)) this.#settle(key);
  }

  /** A complete list as of `resourceVersion`; what happened since the stream broke shows as differences. */
  replace(objects: ReadonlyMap<string, T>, resourceVersion: string): readonly Change<T>[] {
    // Not `#advance`: a server restored from a backup counts from an earlier version.
    this.#seen = resourceVersion;
    const keys = new Set([...objects.keys(), ...this.store.keys(), ...this.#unconfirmed.keys(), ...this.#holds.keys()]);
    return [...keys].flatMap((key) => this.#takeListed(key, objects.get(key), resourceVersion));
  }

  /** The answer of our own write. */
  absorb(object: T): void {
    const key = keyOf(object.metadata);
    const { resourceVersion } = object.metadata;
    const current = this.store.get(key);
    const hold = this.#holds.get(key);
    // The stream is further than this answer: what it told (perhaps that the object is gone again) stands.
    if (!isLater(resourceVersion, hold ? hold.since : this.#seen)) return;

    this.#expect(key, current).writes.add(resourceVersion);
    // Answers of two writes may come in any order.
    if (isLater(resourceVersion, current?.metadata.resourceVersion)) this.store.put(key, object);
  }

  /** Our own delete was answered. */
  forget(key: string, uid: string): void {
    const current = this.store.get(key);
    if (current?.metadata.uid !== uid) return;
    // It lives on until its finalizers are gone: the stream tells.
    if ((current.metadata.finalizers ?? []).length > 0) return;

    this.#expect(key, current).deletes.add(uid);
    this.store.remove(key);
  }

  /** From now on news about `key` wait until `release`. */
  hold(key: string): void {
    const hold = this.#holds.get(key);
    if (hold) hold.writers += 1;
    else this.#holds.set(key, { writers: 1, since: this.#seen, news: [] });
  }

  release(key: string): readonly Change<T>[] {
    const hold = this.#holds.get(key);
    if (!hold) return [];
    hold.writers -= 1;
    if (hold.writers > 0) return [];

    this.#holds.delete(key);
    const changes = hold.news.flatMap((news) => this.#take(news));
    this.#settle(key);
    return changes;
  }

  #take(news: News<T>): readonly Change<T>[] {
    const { key, object } = news;
    const current = this.store.get(key);
    const own = this.#unconfirmed.get(key);
    if (own && confirms(news, own)) {
      // Our own write took the object out of the selection.
      if (!object && current?.metadata.resourceVersion === news.resourceVersion) this.store.remove(key);
      this.#confirm(key, own, news);
      return [];
    }
    // Somebody changed it before our write did, and our answer overtook the news: nobody has heard of it yet.
    if (own && precedes(news, own)) return [{ key, before: own.before ?? object, after: current }];

    this.#unconfirmed.delete(key);
    if (current && isKnown(news, current)) return [];
    return this.#set(key, current, object);
  }

  #takeListed(key: string, object: T | undefined, listedAt: string): readonly Change<T>[] {
    const current = this.store.get(key);
    const resourceVersion = object?.metadata.resourceVersion ?? listedAt;
    const uid = object?.metadata.uid ?? current?.metadata.uid ?? "";
    const hold = this.#holds.get(key);
    if (hold) {
      hold.news.push({ key, uid, resourceVersion, object });
      return [];
    }
    const own = this.#unconfirmed.get(key);
    // Written after the list was made. Whether somebody else wrote before that, a list cannot tell.
    if (own && hasLaterWrite(own, listedAt)) return [{ key, before: own.before ?? object, after: current }];

    this.#unconfirmed.delete(key);
    if (!isSameState(current, object)) return this.#set(key, current, object);
    return own && (own.before || current) ? [{ key, before: own.before, after: current }] : [];
  }

  #set(key: string, before: T | undefined, after: T | undefined): readonly Change<T>[] {
    if (!before && !after) return [];
    if (after) this.store.put(key, after);
    else this.store.remove(key);
    return [{ key, before, after }];
  }

  #expect(key: string, before: T | undefined): Unconfirmed<T> {
    const own = this.#unconfirmed.get(key) ?? { before, writes: new Set<string>(), deletes: new Set<string>() };
    this.#unconfirmed.set(key, own);
    return own;
  }

  #confirm(key: string, own: Unconfirmed<T>, news: News<T>): void {
    if (!news.object) own.deletes.delete(news.uid);
    for (const write of own.writes) if (!isLater(write, news.resourceVersion)) own.writes.delete(write);
    if (own.writes.size + own.deletes.size === 0) this.#unconfirmed.delete(key);
  }

  /** A write of ours that the stream passed without a word is not among the objects selected here. */
  #settle(key: string): void {
    const own = this.#unconfirmed.get(key);
    if (!own) return;
    for (const write of own.writes) {
      if (isLater(write, this.#seen)) continue;
      own.writes.delete(write);
      if (this.store.get(key)?.metadata.resourceVersion === write) this.store.remove(key);
    }
    if (own.writes.size + own.deletes.size === 0) this.#unconfirmed.delete(key);
  }

  #advance(resourceVersion: string): void {
    if (isLater(resourceVersion, this.#seen)) this.#seen = resourceVersion;
  }
}

function confirms<T>(news: News<T>, own: Unconfirmed<T>): boolean {
  return own.writes.has(news.resourceVersion) || (!news.object && own.deletes.has(news.uid));
}

/** It happened before the last of our own writes or deletes did. */
function precedes<T extends KubeObject>(news: News<T>, own: Unconfirmed<T>): boolean {
  if (hasLaterWrite(own, news.resourceVersion)) return true;
  // With a deletionTimestamp it is the consequence of our delete, not what came before.
  return own.deletes.has(news.uid) && news.object !== undefined && !news.object.metadata.deletionTimestamp;
}

function hasLaterWrite<T>(own: Unconfirmed<T>, resourceVersion: string): boolean {
  return [...own.writes].some((write) => isLater(write, resourceVersion));
}

/** The store has this or something later. Where versions cannot be compared the stream is believed. */
function isKnown<T extends KubeObject>(news: News<T>, current: T): boolean {
  const order = compareVersions(news.resourceVersion, current.metadata.resourceVersion);
  // The deletion itself may carry the version of the object's last state.
  if (order === 0) return news.object !== undefined || news.uid !== current.metadata.uid;
  return order !== undefined && order < 0;
}
