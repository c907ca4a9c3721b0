import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type KubeObject, keyOf } from "../api/objects.ts";
import { type Change, Mirror, type News } from "./mirror.ts";

const names = ["a", "b"] as const;
const verbs = ["put", "delete", "replace"] as const;
type Verb = (typeof verbs)[number];

/** Keeps objects and remembers every change, as etcd does. */
class Server {
  readonly log: News<KubeObject>[] = [];

  get resourceVersion(): number {
    return this.log.length;
  }

  /** The objects as of a resourceVersion. */
  at(resourceVersion: number): Map<string, KubeObject> {
    const objects = new Map<string, KubeObject>();
    for (const { key, object } of this.log.slice(0, resourceVersion)) {
      if (object) objects.set(key, object);
      else objects.delete(key);
    }
    return objects;
  }

  /** What the write is answered; undefined when there is nothing left. */
  write(name: string, verb: Verb): KubeObject | undefined {
    const current = this.at(this.resourceVersion).get(name);
    const resourceVersion = String(this.resourceVersion + 1);
    if (verb === "put") {
      const metadata = {
        name,
        uid: current?.metadata.uid ?? `u${resourceVersion}`,
        resourceVersion,
        creationTimestamp: "",
      };
      this.log.push({ key: name, uid: metadata.uid, resourceVersion, object: { metadata } });
      return { metadata };
    }
    if (current) this.log.push({ key: name, uid: current.metadata.uid, resourceVersion, object: undefined });
    return verb === "replace" ? this.write(name, "put") : undefined;
  }
}

interface OwnWrite {
  readonly name: string;
  readonly verb: Exclude<Verb, "replace">;
  readonly isHeld: boolean;
  readonly uid: string;
  stage: "begun" | "done";
  answer?: KubeObject | undefined;
}

/** A server, the mirror of it, a stream that lags behind and own writes whose answers do as well. */
class World {
  readonly server = new Server();
  readonly mirror = new Mirror<KubeObject>({ uid: ({ metadata }) => [metadata.uid] });
  readonly own: OwnWrite[] = [];
  /** Keys told, and the server's version at that time. */
  readonly told: { readonly key: string; readonly when: number }[] = [];
  readonly lastForeign = new Map<string, number>();
  position = 0;

  foreign(name: string, verb: Verb): void {
    const before = this.server.resourceVersion;
    this.server.write(name, verb);
    if (this.server.resourceVersion > before) this.lastForeign.set(name, this.server.resourceVersion);
  }

  /** One write of ours to an object at a time, as the queue sees to. */
  begin(name: string, verb: OwnWrite["verb"], isHeld: boolean): void {
    if (this.own.some((write) => write.name === name)) return;
    if (isHeld) this.mirror.hold(name);
    this.own.push({ name, verb, isHeld, stage: "begun", uid: this.mirror.store.get(name)?.metadata.uid ?? "" });
  }

  advance(index: number): void {
    const write = this.own[index % this.own.length];
    if (!write) return;
    if (write.stage === "begun") {
      const before = this.server.resourceVersion;
      write.answer = this.server.write(write.name, write.verb);
      write.stage = "done";
      // A delete that finds nothing has told its caller of the deletion before it.
      if (write.verb === "delete" && this.server.resourceVersion === before) this.lastForeign.delete(write.name);
      return;
    }
    this.own.splice(this.own.indexOf(write), 1);
    if (write.answer) this.mirror.absorb(write.answer);
    else this.mirror.forget(write.name, write.uid);
    if (write.isHeld) this.note(this.mirror.release(write.name));
  }

  stream(count: number): void {
    for (const news of this.server.log.slice(this.position, this.position + count)) {
      this.position += 1;
      this.note(this.mirror.observe(news));
    }
  }

  bookmark(): void {
    this.mirror.reached(String(this.position));
  }

  relist(skipped: number): void {
    this.position = Math.min(this.server.resourceVersion, this.position + skipped);
    this.note(this.mirror.replace(this.server.at(this.position), String(this.position)));
  }

  finish(): void {
    while (this.own.length > 0) this.advance(0);
    this.stream(Number.POSITIVE_INFINITY);
    this.bookmark();
  }

  note(changes: readonly Change<KubeObject>[]): void {
    for (const { key } of changes) this.told.push({ key, when: this.server.resourceVersion });
  }
}

type Action =
  | { readonly foreign: Verb; readonly name: string }
  | { readonly begin: OwnWrite["verb"]; readonly name: string; readonly isHeld: boolean }
  | { readonly advance: number }
  | { readonly stream: number }
  | { readonly relist: number }
  | { readonly bookmark: true };

function play(world: World, action: Action): void {
  if ("foreign" in action) world.foreign(action.name, action.foreign);
  else if ("begin" in action) world.begin(action.name, action.begin, action.isHeld);
  else if ("advance" in action) world.advance(action.advance);
  else if ("stream" in action) world.stream(action.stream);
  else if ("relist" in action) world.relist(action.relist);
  else world.bookmark();
}

const name = fc.constantFrom(...names);
const foreign = fc.record({ foreign: fc.constantFrom(...verbs), name });
const begin = (isHeld: fc.Arbitrary<boolean>) =>
  fc.record({ begin: fc.constantFrom("put" as const, "delete" as const), name, isHeld });
const advance = fc.record({ advance: fc.nat(3) });
const stream = fc.record({ stream: fc.integer({ min: 1, max: 4 }) });
const bookmark = fc.constant({ bookmark: true } as const);
const relist = fc.record({ relist: fc.nat(6) });

function holds(actions: readonly fc.Arbitrary<Action>[], check: (world: World) => void): void {
  fc.assert(
    fc.property(fc.array(fc.oneof(...actions), { maxLength: 40, size: "max" }), (steps) => {
      const world = new World();
      world.relist(0);
      for (const step of steps) play(world, step);
      world.finish();
      check(world);
    }),
    { numRuns: 1_000 },
  );
}

function assertEqualToServer({ server, mirror }: World): void {
  const expected = server.at(server.resourceVersion);
  assert.deepEqual(new Map(mirror.store.list().map((object) => [keyOf(object.metadata), object])), expected);
  for (const object of expected.values()) assert.deepEqual(mirror.store.by("uid", object.metadata.uid), [object]);
}

test("Mirror: whatever happens in whatever order, it ends equal to the server", () => {
  holds([foreign, begin(fc.boolean()), advance, stream, bookmark, relist], assertEqualToServer);
});

test("Mirror: no change by somebody else is hidden by our own writes", () => {
  holds([foreign, begin(fc.boolean()), advance, stream, bookmark], (world) => {
    for (const [key, when] of world.lastForeign) {
      assert.ok(
        world.told.some((change) => change.key === key && change.when >= when),
        `the change of ${key} at ${when} was never told`,
      );
    }
  });
});

test("Mirror: our own writes, announced, wake nobody", () => {
  holds([begin(fc.constant(true)), advance, stream, bookmark], (world) => assert.deepEqual(world.told, []));
});
