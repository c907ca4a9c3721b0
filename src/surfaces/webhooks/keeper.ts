import { WatchCache } from "../../kube/cache.ts";
import type { Call, Kube } from "../../kube/client.ts";
import type { Log } from "../../kube/log.ts";
import { Alarm, repeat } from "../../runtime/alarm.ts";
import type { Certificates } from "./certificates.ts";
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
  webhookConfigurations,
} from "./registration-plan.ts";

export const recheckMs = 15_000;

export interface KeeperOptions {
  /** Not fenced: a standby may take over the registration of a dead replica. */
  readonly kube: Kube;
  readonly reach: Reach;
  readonly certificates: Certificates;
  readonly role: () => Sight["role"];
  readonly log: Log;
}

/** Keeps one webhook configuration as it should be, until disposed. */
export class Keeper implements AsyncDisposable {
  readonly #registration: Registration;
  readonly #options: KeeperOptions;
  readonly #cache: WatchCache<WebhookConfiguration>;
  readonly #silentUrls = new Set<string>();
  readonly #stopping = new AbortController();
  readonly #alarm = new Alarm();
  #running: Promise<void> | undefined;
  #isSettled = false;

  constructor(registration: Registration, options: KeeperOptions) {
    const { kind, name } = registration;
    const { kube, log } = options;
    this.#registration = registration;
    this.#options = options;
    this.#cache = new WatchCache<WebhookConfiguration>({
      ...{ kube, log, resource: webhookConfigurations[kind] },
      selection: { fieldSelector: `metadata.name=${name}` },
      name: `registration-${kind}-${name}`,
    });
    this.#cache.subscribe(() => this.wake());
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Looks again now: certificates or leadership have changed. */
  wake(): void {
    this.#alarm.ring();
  }

  /** It leads to this replica, or to another that is alive. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#cache[Symbol.asyncDispose]();
  }

  async #run(): Promise<void> {
    const { kind, name: configuration } = this.#registration;
    const { signal } = this.#stopping;
    this.#cache.start();
    await repeat(() => this.#ensure({ signal }), {
      alarm: this.#alarm,
      everyMs: recheckMs,
      signal,
      onFailure: (error) =>
        this.#options.log.warn("could not register the webhooks, trying again", { configuration, kind, error }),
    });
  }

  async #ensure(call: Call): Promise<void> {
    const { reach, certificates, role, log } = this.#options;
    const { kind, name } = this.#registration;
    await this.#cache.synced(call);
    const { caBundlePem } = certificates.serving ?? (await certificates.ensure(call));
    const desired = configurationOf(this.#registration, reach, caBundlePem);
    const actual = this.#cache.get(name);
    const url = actual && registeredUrlOf(actual, this.#registration);
    const held = url ? configurationOf(this.#registration, { kind: "url", baseUrl: url }, caBundlePem) : undefined;
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
      await this.#cache.writing(name, () => this.#write(desired, call));
      log.info("webhooks registered", { configuration: name, kind, instead: url });
    }
    this.#isSettled = step !== "probe";
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

  async #write(desired: ReturnType<typeof configurationOf>, call: Call): Promise<WebhookConfiguration> {
    const { kube } = this.#options;
    const resource = webhookConfigurations[this.#registration.kind];
    const applied = await kube.apply<WebhookConfiguration>(resource, desired, { ...call, force: true });
    if (isRegistered(applied, desired)) return applied;
    // An apply leaves what others added to our lists, such as a condition that never holds: a merge replaces them whole.
    const body = { metadata: { resourceVersion: applied.metadata.resourceVersion }, webhooks: desired.webhooks };
    return await kube.patch<WebhookConfiguration>(resource, applied.metadata, { type: "merge", body }, call);
  }
}
