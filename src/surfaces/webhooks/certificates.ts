import { isIP } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { managedByLabel, managedByValue } from "../../api/marks.ts";
import { type Draft, type Secret, secrets } from "../../api/objects.ts";
import { backoffMs } from "../../kube/backoff.ts";
import { WatchCache } from "../../kube/cache.ts";
import type { Call, Kube } from "../../kube/client.ts";
import { isGoneOrReplaced, isReason } from "../../kube/errors.ts";
import type { Log } from "../../kube/log.ts";
import { issueCa, issueLeaf, type KeyPair } from "../../kube/x509.ts";
import { withoutQuotes } from "../../replication/redact.ts";
import { Alarm, repeat } from "../../runtime/alarm.ts";
import {
  type CertificatePlan,
  type CertificateRecord,
  caDays,
  leafDays,
  planCertificates,
  signerOf,
} from "./certificate-plan.ts";

export const certificateSecretName = "latchkey-admission";
const recheckMs = 30_000;

/** What the server serves and the registrations trust. */
interface Serving {
  readonly leaf: KeyPair;
  readonly caBundlePem: string;
}

interface CertificatesOptions {
  readonly kube: Kube;
  readonly namespace: string;
  /** DNS names and addresses under which the API server may call. */
  readonly hosts: readonly string[];
  readonly log: Log;
}

/**
 * CA and serving certificate of the webhook server, kept in a Secret that all replicas share. Any replica may write it:
 * a create or a guarded patch lets one win, the others read.
 */
export class Certificates implements AsyncDisposable {
  readonly #options: CertificatesOptions;
  readonly #listeners = new Set<(serving: Serving) => void>();
  readonly #stopping = new AbortController();
  #serving: Serving | undefined;
  #following: Promise<void> | undefined;
  readonly #alarm = new Alarm();

  constructor(options: CertificatesOptions) {
    this.#options = options;
  }

  /** Undefined before `ensure` has succeeded once. */
  get serving(): Serving | undefined {
    return this.#serving;
  }

  /** Told of every change, not of the value at hand. */
  onChange(listener: (serving: Serving) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Reads the Secret, and writes it first where it is missing or needs something. */
  async ensure({ signal }: Call = {}): Promise<Serving> {
    for (;;) {
      const record = await this.#tryEnsure({ signal });
      if (record) return this.#serve(record);
      // Another replica wrote in between: read what it wrote.
      await sleep(backoffMs(0, { baseMs: 100, maxMs: 100 }), undefined, { signal });
    }
  }

  /** Follows the Secret until disposed: a change by another replica or by hand acts at once. */
  follow(): void {
    this.#following ??= this.#follow();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#following;
  }

  async #follow(): Promise<void> {
    const { kube, namespace, log } = this.#options;
    const { signal } = this.#stopping;
    // Metadata only: the watch is an alarm clock, and private keys need not lie in a cache.
    await using watch = new WatchCache({
      kube,
      resource: secrets,
      selection: { namespace, fieldSelector: `metadata.name=${certificateSecretName}` },
      metadataOnly: true,
      name: "admission-certificates",
      log,
    });
    watch.subscribe(() => this.#alarm.ring());
    watch.start();
    await repeat(async () => void (await this.ensure({ signal })), {
      alarm: this.#alarm,
      everyMs: recheckMs,
      signal,
      onFailure: (error) => log.warn("could not look after the admission certificates", { error }),
    });
  }

  /** Undefined when another replica was faster. */
  async #tryEnsure(call: Call): Promise<CertificateRecord | undefined> {
    const { kube, namespace, hosts, log } = this.#options;
    const stored = await kube.get<Secret>(secrets, { namespace, name: certificateSecretName }, call);
    if (stored && stored.metadata.labels?.[managedByLabel] !== managedByValue) {
      throw new Error(
        `Secret ${namespace}/${certificateSecretName} is not Latchkey's (it lacks the label ${managedByLabel}: ${managedByValue})`,
      );
    }
    const record = recordOf(stored);
    const now = new Date();
    const plan = planCertificates(record, now, hosts);
    if (stored && plan.isCurrent) return record;

    const next = await executePlan(record, plan, now);
    const written = await this.#write(stored, next, call);
    if (written) log.info("admission certificates written", { leaf: plan.issueLeaf, newAuthority: plan.addAuthority });
    return written ? next : undefined;
  }

  async #write(stored: Secret | undefined, record: CertificateRecord, call: Call): Promise<boolean> {
    const { kube, namespace } = this.#options;
    const data = dataOf(record);
    try {
      await withoutQuotes(kube, { namespace, name: certificateSecretName }, data, call, async () => {
        // Create, not apply: of two replicas that start at once one must lose, or each would serve its own CA.
        if (stored) await this.#update(stored, data, call);
        else await kube.create<Secret>(secrets, newSecret(namespace, data), { ...call, metadataOnly: true });
      });
      return true;
    } catch (error) {
      if (isReason(error, "AlreadyExists", "Conflict") || isGoneOrReplaced(error)) return false;
      throw error;
    }
  }

  /** Guarded by the resourceVersion: whoever decided on another state of the record loses. */
  async #update({ metadata }: Secret, data: Secret["data"], call: Call): Promise<void> {
    const { uid, resourceVersion } = metadata;
    const body = { metadata: { uid, resourceVersion }, data };
    await this.#options.kube.patch(secrets, metadata, { type: "merge", body }, { ...call, metadataOnly: true });
  }

  #serve(record: CertificateRecord): Serving {
    const next: Serving = {
      leaf: record.leaf!,
      caBundlePem: record.authorities.map((authority) => authority.certificatePem).join(""),
    };
    const before = this.#serving;
    if (before?.leaf.certificatePem === next.leaf.certificatePem && before.caBundlePem === next.caBundlePem)
      return before;
    this.#serving = next;
    if (before) for (const listener of this.#listeners) listener(next);
    return next;
  }
}

async function executePlan(record: CertificateRecord, plan: CertificatePlan, now: Date): Promise<CertificateRecord> {
  const added = plan.addAuthority ? [await issueCa({ commonName: "latchkey-admission-ca", days: caDays })] : [];
  const authorities = [...added, ...plan.keep];
  if (!plan.issueLeaf) return { authorities, leaf: record.leaf };

  const leaf = await issueLeaf(signerOf(authorities, now)!, {
    commonName: "latchkey-admission",
    dnsNames: plan.hosts.filter((host) => isIP(host) === 0),
    ips: plan.hosts.filter((host) => isIP(host) !== 0),
    usages: ["server"],
    days: leafDays,
  });
  return { authorities, leaf };
}

function newSecret(namespace: string, data: Secret["data"]): Draft<Secret> {
  return {
    metadata: { namespace, name: certificateSecretName, labels: { [managedByLabel]: managedByValue } },
    type: "Opaque",
    data: data!,
  };
}

/** `ca.crt` and `ca.key` list one PEM block for each CA, in the same order. */
function recordOf(secret: Secret | undefined): CertificateRecord {
  const field = (name: string) => Buffer.from(secret?.data?.[name] ?? "", "base64").toString("utf8");
  const certificates = pemBlocks(field("ca.crt"));
  const keys = pemBlocks(field("ca.key"));
  const [leafCertificate] = pemBlocks(field("tls.crt"));
  const [leafKey] = pemBlocks(field("tls.key"));
  return {
    authorities: certificates.map((certificatePem, index) => ({ certificatePem, keyPem: keys[index] ?? "" })),
    leaf: leafCertificate && leafKey ? { certificatePem: leafCertificate, keyPem: leafKey } : undefined,
  };
}

function dataOf({ authorities, leaf }: CertificateRecord): NonNullable<Secret["data"]> {
  const encode = (text: string) => Buffer.from(text, "utf8").toString("base64");
  return {
    "ca.crt": encode(authorities.map(({ certificatePem }) => certificatePem).join("")),
    "ca.key": encode(authorities.map(({ keyPem }) => keyPem).join("")),
    "tls.crt": encode(leaf?.certificatePem ?? ""),
    "tls.key": encode(leaf?.keyPem ?? ""),
  };
}

function pemBlocks(text: string): readonly string[] {
  return (text.match(/-----BEGIN [A-Z ]+-----[^-]+-----END [A-Z ]+-----/gu) ?? []).map((block) => `${block}\n`);
}
