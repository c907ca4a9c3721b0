import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { events, type KubeObject } from "../api/objects.ts";
import type { Kube } from "../kube/client.ts";
import { watchEvents } from "../kube/watch.ts";

interface Event extends KubeObject {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

const patienceMs = 120_000;

/** What is told of one object from now on, in order. */
export class EventsOf {
  readonly #seen: Event[] = [];

  constructor(t: TestContext, kube: Kube, { metadata }: KubeObject) {
    const stop = new AbortController();
    const selection = {
      namespace: metadata.namespace ?? "default",
      fieldSelector: `involvedObject.uid=${metadata.uid}`,
      sendInitialEvents: true,
    };
    const listen = async () => {
      for await (const { type, object } of watchEvents(kube, events, selection, { signal: stop.signal })) {
        if (type === "ADDED") this.#seen.push(object as Event);
      }
    };
    const listening = listen().catch(() => {});
    t.after(async () => {
      stop.abort();
      await listening;
    });
  }

  /** Resolves once there are as many: each as `Warning Reason`. */
  async until(count: number): Promise<readonly string[]> {
    for (const deadline = performance.now() + patienceMs; this.#seen.length < count; await sleep(20)) {
      if (performance.now() > deadline) throw new Error(`only ${JSON.stringify(this.inShort)} were told`);
    }
    return this.inShort;
  }

  get inShort(): readonly string[] {
    return this.#seen.map(({ type, reason }) => `${type} ${reason}`);
  }

  get messages(): readonly string[] {
    return this.#seen.map(({ message }) => message);
  }
}
