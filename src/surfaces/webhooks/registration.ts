import { WatchCache } from "../../kube/cache.ts";
import type { Call, Kube } from "../../kube/client.ts";
import type { Log } from "../../kube/log.ts";
import { Alarm } from "./alarm.ts";
import type { Certificates } from "./certificates.ts";
import { removeConfigurations } from "./configurations.ts";
import { probe } from "./probe.ts";
import {
  configurationOf,
  isRegistered,
  planRegistration,
  type Reach,
  type Registration,
  registeredCaOf,
  registeredUrlOf,
  type Sight,
  type WebhookConfiguration,
} from "./registration-plan.ts";

const recheckMs = 15_000;

interface RegistrarOptions {
  /** Not fenced: a standby may take over the registration of a dead replica. */
  readonly kube: Kube;
  readonly registrations: readonly Registration[];
  /** Names of the configurations of all features, those that are off included. */
  readonly known: readonly string[];
  readonly reach: Reach;
  readonly certificates: Certificates;
  readonly role: () => Sight["role"];
  readonly log: Log;
}

/** Keeps the webhook configurations as they should be, until disposed. */
export class Registrar implements AsyncDisposable {
  readonly #options: RegistrarOptions;
  readonly #caches: ReadonlyMap<Registration, WatchCache<WebhookConfiguration>>;
  readonly #silentUrls = new Set<string>();
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  readonly #alarm = new Alarm();
  #hasSwept = false;
  #isSettled = false;
  #isFailing = false;

  constructor(options: RegistrarOptions) {
    this.#options = options;
    this.#caches = new Map(options.registrations.map((each) => [each, this.#cacheOf(each)]));
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Looks again now: certificates or leadership have changed. */
  wake(): void {
    this.#alarm.ring();
  }

  /** Every configuration leads to this replica, or to another that is alive. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    for (const cache of this.#caches.values()) await cache[Symbol.asyncDispose]();
  }

  #cacheOf({ resource, name }: Registration): WatchCache<WebhookConfiguration> {
    const { kube, log } = this.#options;
    const selection = { fieldSelector: `metadata.name=${name}` };
    const cache = new WatchCache<WebhookConfiguration>({
      kube,
      resource,
      selection,
      name: `registration-${name}`,
      log,
    });
    cache.subscribe(() => this.wake());
    return cache;
  }

  async #run(): Promise<void> {
    const { log } = this.#options;
    const { signal } = this.#stopping;
    for (const cache of this.#caches.values()) cache.start();
    while (!signal.aborted) {
      try {
        await this.#pass({ signal });
        this.#isFailing = false;
      } catch (error) {
        // Said once: how it goes on is in the readiness.
        if (!signal.aborted && !this.#isFailing) log.warn("could not register the webhooks, trying again", { error });
        this.#isFailing = true;
      }
      await this.#alarm.wait(recheckMs, { signal });
    }
  }

  async #pass(call: Call): Promise<void> {
    await this.#sweep(call);
    let areSettled = true;
    for (const [registration, cache] of this.#caches) {
      await cache.synced(call);
      areSettled = (await this.#ensure(registration, cache, call)) && areSettled;
    }
    this.#isSettled = areSettled;
  }

  /** Configurations of features that are off now, once: the acting replica knows which features there are. */
  async #sweep(call: Call): Promise<void> {
    const { kube, registrations, known, role, log } = this.#options;
    if (this.#hasSwept || role() === "standby") return;
    const stale = known.filter((name) => !registrations.some((registration) => registration.name === name));
    const removed = await removeConfigurations(kube, stale, call);
    for (const configuration of removed) log.info("stale webhook configuration removed", { configuration });
    this.#hasSwept = true;
  }

  async #ensure(registration: Registration, cache: WatchCache<WebhookConfiguration>, call: Call): Promise<boolean> {
    const { reach, certificates, role, log } = this.#options;
    const { caBundlePem } = certificates.serving ?? (await certificates.ensure(call));
    const desired = configurationOf(registration, reach, caBundlePem);
    const actual = cache.get(registration.name);
    const url = actual && registeredUrlOf(actual, registration);
    const held = url ? configurationOf(registration, { kind: "url", baseUrl: url }, caBundlePem) : undefined;
    const sight: Sight = {
      actual,
      desired,
      role: role(),
      isHeldByPeer: actual !== undefined && held !== undefined && isRegistered(actual, held),
      peer: reach.kind === "service" ? "alive" : "unknown",
    };

    let step = planRegistration(sight);
    if (step === "probe") step = planRegistration({ ...sight, peer: await this.#probe(actual, url, call) });
    if (step === "write") {
      await cache.writing(registration.name, () => this.#write(registration, desired, call));
      log.info("webhooks registered", { configuration: registration.name, instead: url });
    }
    return step !== "probe";
  }

  /** One silence may be a busy moment: only the second in a row counts. A refused connection counts at once. */
  async #probe(actual: WebhookConfiguration | undefined, url: string | undefined, call: Call): Promise<Sight["peer"]> {
    const ca = actual && registeredCaOf(actual);
    if (!url || !ca) return "dead";
    const answer = await probe(url, ca, call);
    const wasSilent = this.#silentUrls.delete(url);
    if (answer !== "silent") return answer;
    if (wasSilent) return "dead";
    this.#silentUrls.add(url);
    return "unknown";
  }

  async #write(
    { resource }: Registration,
    desired: ReturnType<typeof configurationOf>,
    call: Call,
  ): Promise<WebhookConfiguration> {
    const { kube } = this.#options;
    const applied = await kube.apply<WebhookConfiguration>(resource, desired, { ...call, force: true });
    if (isRegistered(applied, desired)) return applied;
    // An apply leaves what others added to our lists, such as a condition that never holds: a merge replaces them whole.
    const body = { metadata: { resourceVersion: applied.metadata.resourceVersion }, webhooks: desired.webhooks };
    return await kube.patch<WebhookConfiguration>(resource, applied.metadata, { type: "merge", body }, call);
  }
}
