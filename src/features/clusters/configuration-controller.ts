import { kubermaticConfigurations } from "../../api/kinds.ts";
import { statusAnnotation } from "../../api/marks.ts";
import { type Condition, type KubeObject, keyOf, namespaceOf } from "../../api/objects.ts";
import type { Change, WatchCache } from "../../kube/cache.ts";
import { isRefusal } from "../../kube/errors.ts";
import { findSource } from "../../pullsecrets/find.ts";
import type { PullSecrets } from "../../pullsecrets/pull-secrets.ts";
import type { Reference } from "../../pullsecrets/references.ts";
import type { SourceState } from "../../pullsecrets/report.ts";
import type { Replication } from "../../replication/replication.ts";
import { encodeStatus } from "../../runtime/beside-status.ts";
import { BesideWriter } from "../../runtime/beside-writer.ts";
import type { Controller, Pass } from "../../runtime/controller.ts";
import type { Announcement, Outcome } from "../../runtime/outcome.ts";
import { type ConfigurationRecord, configurationRecordOf, describeHeld } from "./configuration-record.ts";
import type { Defaults } from "./defaults.ts";
import type { ConfigVerdict } from "./docker-config.ts";
import { ensureInlineSecret, findInlineSecret, inlineKeyOf, removeInlineSecret } from "./inline-secret.ts";
import type { ClustersMode } from "./record.ts";

interface ConfigurationControllerOptions {
  readonly mode: ClustersMode;
  readonly defaults: Defaults;
  readonly replication: Replication;
  readonly pullSecrets: Pick<PullSecrets, "reportOf">;
  /** Tells of sources about which something new is known, until the returned function is called. */
  onReport(listener: (source: string) => void): () => void;
}

/** What is to be said about a default. */
interface Judgement {
  readonly isValid: boolean;
  readonly reason: string;
  readonly message: string;
  /** Tells one default from another; empty for none. Left out: the last one stays in use. */
  readonly inForce?: string;
  readonly retry?: boolean;
}

const field = "spec.userCluster.imagePullSecret";

/** Makes the default of all clusters out of configurations, and tells whether it can be used. */
export function configurationController(options: ConfigurationControllerOptions): Controller<ConfigurationRecord> {
  const { mode, defaults, replication, pullSecrets } = options;
  const writer = new BesideWriter({ resource: kubermaticConfigurations, objects: () => objects });
  const { fingerprint, sources } = replication;
  /** By UID of the configuration: which default it gave when it was last looked at. */
  const inForce = new Map<string, string>();
  let objects: WatchCache<ConfigurationRecord>;

  return {
    name: "configurations",
    resource: kubermaticConfigurations,
    transform: (object) => configurationRecordOf(object, { mode, fingerprint }),
    watches: [{ cache: sources, wakes: ({ key }: Change<KubeObject>) => keysReading(key) }],
    wakers: [
      // Its Secret may have a free name now.
      (wake) =>
        defaults.onChange(() => {
          if (defaults.counting) wake(keyOf(defaults.counting.metadata));
        }),
      (wake) => options.onReport((source) => keysReading(source).forEach(wake)),
      // Another one may count now.
      (wake) =>
        objects.subscribe(({ key }) =>
          objects
            .keys()
            .filter((other) => other !== key)
            .forEach(wake),
        ),
    ],

    onObjects(cache) {
      objects = cache;
      defaults.attach(cache);
    },

    async reconcile(record, pass) {
      const judgement = await judge(record, pass);
      const { isValid, reason, message, retry = false } = judgement;
      const { generation } = record.metadata;
      const observed = generation === undefined ? {} : { observedGeneration: generation };
      const condition: Condition = {
        ...{ type: "DefaultValid", status: isValid ? "True" : "False", reason, message },
        ...observed,
      };
      const status = { ...observed, conditions: [condition] };
      const told = mode === "instead" ? { status } : await tellBeside(record, status, pass);
      return { ...told, retry, events: eventsOf(record, judgement, hasChanged(record, judgement)) };
    },

    gone: (_key, { metadata }) => void inForce.delete(metadata.uid),
  };

  /** One that is looked at for the first time by this process tells by its generation whether it is new. */
  function hasChanged(record: ConfigurationRecord, { inForce: now }: Judgement): boolean {
    const { uid, generation } = record.metadata;
    const before = inForce.get(uid);
    if (now === undefined) return false;
    inForce.set(uid, now);
    if (before !== undefined) return now !== before;
    const told = toldIn(record);
    return told ? told.observedGeneration !== generation : now !== "";
  }

  function keysReading(source: string): string[] {
    const isRead = (record: ConfigurationRecord) =>
      inlineKeyOf(record) === source || referencesOf(record).some((reference) => keyOf(reference) === source);
    return objects
      .list()
      .filter(isRead)
      .map(({ metadata }) => keyOf(metadata));
  }

  async function judge(record: ConfigurationRecord, pass: Pass): Promise<Judgement> {
    try {
      return await carryOut(record, pass);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const message = `Secret ${inlineKeyOf(record)} cannot be kept up to date: ${error.message}`;
      return { ...invalid("TargetRefused", message), retry: true };
    }
  }

  async function carryOut(record: ConfigurationRecord, pass: Pass): Promise<Judgement> {
    const { given } = record;
    const { counting, namespace } = defaults;
    if (namespaceOf(record) !== namespace) {
      await removeInlineSecret(record, pass.kube, pass);
      return { ...invalid("WrongNamespace", `only a configuration in namespace ${namespace} counts`), inForce: "" };
    }
    if (counting && counting.metadata.uid !== record.metadata.uid) {
      await removeInlineSecret(record, pass.kube, pass);
      return { ...invalid("NotTheFirst", `${counting.metadata.name} is older and counts`), inForce: "" };
    }
    if (given.kind === "inline") return await judgeInline(record, given.verdict, given.fingerprint, pass);

    await removeInlineSecret(record, pass.kube, pass);
    if (given.kind === "unreadable") return { ...invalid("InvalidReferences", given.objection), inForce: "" };
    const states = await Promise.all(given.references.map((reference) => stateOf(reference, pass)));
    const problem = given.references.flatMap((reference, at) => problemWith(reference, states[at]))[0];
    return { ...(problem ?? usable), inForce: given.references.map(keyOf).join() };
  }

  async function judgeInline(
    record: ConfigurationRecord,
    verdict: ConfigVerdict,
    print: string,
    pass: Pass,
  ): Promise<Judgement> {
    const { kube, signal } = pass;
    if (verdict.kind === "not-set") {
      await removeInlineSecret(record, kube, { signal });
      return { ...valid("NotSet", "there is no default"), inForce: "" };
    }
    if (verdict.kind !== "valid") {
      const before = await findInlineSecret(record, kube, { signal });
      const rest = before ? "the last valid default stays in use" : "there was none before";
      return invalid(
        verdict.kind === "malformed" ? "MalformedJSON" : "NoAuths",
        `${field}: ${describe(verdict)}; ${rest}`,
      );
    }
    const known = sources.get(inlineKeyOf(record));
    const ensured = await ensureInlineSecret(record, print, { kube, fingerprint, known, signal });
    if (ensured === "held-by-others") {
      return { ...invalid("Collision", describeHeld(namespaceOf(record))), inForce: "" };
    }
    return ensured === "outdated" ? { ...usable, retry: true } : { ...usable, inForce: print };
  }

  async function stateOf(reference: Reference, { kube, signal }: Pass): Promise<SourceState> {
    const known = pullSecrets.reportOf(keyOf(reference))?.state;
    return known ?? (await findSource(reference, replication, kube, { signal })).state;
  }

  async function tellBeside(
    record: ConfigurationRecord,
    status: { conditions: readonly Condition[] },
    pass: Pass,
  ): Promise<Outcome> {
    const text =
      record.given.kind === "inline" && record.given.verdict.kind === "not-set" ? undefined : encodeStatus(status);
    if (text === record.metadata.annotations?.[statusAnnotation]) return {};
    const waitMs = await writer.write(record, text, pass);
    return waitMs > 0 ? { recheckAfterMs: waitMs } : {};
  }
}

const valid = (reason: string, message: string): Judgement => ({ isValid: true, reason, message });
const invalid = (reason: string, message: string): Judgement => ({ isValid: false, reason, message });
const usable = valid("Valid", "the default can be used");

const toldIn = ({ status }: ConfigurationRecord): Condition | undefined =>
  status?.conditions?.find(({ type }) => type === "DefaultValid");

const referencesOf = ({ given }: ConfigurationRecord): readonly Reference[] =>
  given.kind === "references" ? given.references : [];

/** The place of the fault and nothing of the text. */
function describe(verdict: ConfigVerdict): string {
  if (verdict.kind === "malformed") return `not valid JSON at line ${verdict.line}, column ${verdict.column}`;
  return "not an object with an object auths that has at least one entry, each an object";
}

function problemWith(reference: Reference, state: SourceState | undefined): readonly Judgement[] {
  const secret = `Secret ${keyOf(reference)}`;
  switch (state?.kind) {
    case undefined:
    case "usable":
      return [];
    case "missing":
      return [invalid("SourceMissing", `${secret} does not exist`)];
    case "type-rejected":
      return [invalid("SourceTypeRejected", `${secret} is of type ${state.type}, which is no pull secret`)];
    case "is-a-copy":
      return [invalid("SourceIsACopy", `${secret} is itself a copy of ${state.original}: name that one`)];
    case "vetoed":
      return [invalid("SourceVetoed", `${secret} is not to be copied: its owner says so`)];
    case "unreadable":
      return [invalid("SourceUnreadable", `${secret} cannot be read: ${state.message}`)];
  }
}

function eventsOf(record: ConfigurationRecord, judgement: Judgement, hasChanged: boolean): readonly Announcement[] {
  const { isValid, reason, message } = judgement;
  const before = toldIn(record);
  const isNewlyInvalid =
    !isValid && (before?.status !== "False" || before.reason !== reason || before.message !== message);
  const occasion = record.metadata.resourceVersion;
  return [
    ...(isNewlyInvalid
      ? [{ type: "Warning", reason: "DefaultInvalid", message, situation: `${message} ${occasion}` } as const]
      : []),
    ...(hasChanged
      ? [
          {
            type: "Normal",
            reason: "DefaultChanged",
            message: "clusters without pull secrets of their own get another default",
            situation: `changed ${occasion}`,
          } as const,
        ]
      : []),
  ];
}
