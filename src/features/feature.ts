import type { CrdDraft } from "../api/crds.ts";
import type { Resource } from "../api/objects.ts";
import type { WatchCache } from "../kube/cache.ts";
import type { Call, Kube } from "../kube/client.ts";
import type { Log } from "../kube/log.ts";
import type { Option, Settings } from "../options.ts";
import type { Owner } from "../ownership/holder.ts";
import type { PullSecrets } from "../pullsecrets/pull-secrets.ts";
import type { Replication } from "../replication/replication.ts";
import type { Hook } from "../runtime/admission.ts";
import type { Election } from "../runtime/lease.ts";
import type { Mode } from "../runtime/modes.ts";
import type { Recorder } from "../runtime/recorder.ts";
import type { runController } from "../runtime/run-controller.ts";

/** What a feature gets when the operator opens it. */
export interface Deps {
  /** Not fenced: for caches, reviews and reads. A pass writes by the client it is handed. */
  readonly kube: Kube;
  readonly settings: Settings;
  readonly log: Log;
  /** The operator's own namespace. */
  readonly namespace: string;
  /** Instead of the original project's controller, or beside it. */
  readonly mode: Exclude<Mode, "off">;
  /** The same for one of its kinds: the original project may bring some of them and not others. */
  modeOf(kind: Resource): Exclude<Mode, "off">;
  /** `--reference-check`: whether admission asks if the writer has the rights his object would use. */
  readonly checksReferences: boolean;
  /** Copies and sources of the home cluster; the operator starts and closes it. */
  readonly replication: Replication;
  /** Who owns what the whole installation shares. */
  readonly installation: Owner;
  /** The copies that the whole installation shares: a feature that wants some calls `addAsker` while it opens. */
  readonly pullSecrets: PullSecrets;
  /** Whether this replica acts: for a feature that runs more than its controllers. */
  readonly election: Election;
  /** For hooks. A controller announces by its outcomes. */
  readonly recorder: Recorder;
  /** Aborted when the feature is to end, which may be long before the process does. */
  readonly signal: AbortSignal;
}

type ControllerContext = Parameters<typeof runController>[1];

/** `(context) => runController(controller, context)`: only the feature knows the type of its objects. */
type StartController = (context: ControllerContext) => ReturnType<typeof runController>;

/** A feature at work. */
export interface Feature extends Partial<AsyncDisposable> {
  readonly controllers: readonly StartController[];
  readonly admission: readonly Hook[];
  /** Caches that the feature opened itself, beside those of its controllers. The operator starts them, and counts them into readiness and liveness. */
  readonly caches: readonly Pick<WatchCache, "name" | "start" | "isSynced" | "health">[];
}

export interface UninstallOptions extends Call {
  /**
   * `keep`: copies stay as they are, with their marks, for an operator that comes back. `orphan`: they stay, and nothing
   * tells any more whose they were; for when their owners go as well.
   */
  readonly copies: "keep" | "orphan" | "delete";
  /** Owner of the copies that all features share. */
  readonly installation: Owner;
  readonly settings: Settings;
}

/** What an uninstall came to, one line for each thing. */
export interface Undone {
  readonly done: readonly string[];
  /** What could not be taken back, and why. */
  readonly left: readonly string[];
}

/** What `latchkey status` says of a feature: read from the cluster, never from the operator's memory. */
export interface Summary {
  readonly counts: readonly { readonly what: string; readonly count: number }[];
  readonly problems: readonly Problem[];
  /** What is worth a line each. */
  readonly table?: Table;
}

export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface Problem {
  /** `SecretSync/bootstrap-token` */
  readonly object: string;
  readonly reason: string;
  readonly message: string;
}

/** The part of a feature that costs time to load. */
export interface FeatureModule {
  open(deps: Deps): Promise<Feature>;
  /** Takes back what the feature left on other people's objects, whether its kinds are served or not. */
  uninstall(kube: Kube, options: UninstallOptions): Promise<Undone>;
  /** Called only while the kinds are served. */
  summarise(kube: Kube, call: Call): Promise<Summary>;
}

/** What `main.ts` lists: cheap to import, so that `latchkey version` and `--help` are quick. */
export interface FeatureEntry {
  /** Also the flag: `--secretsync=auto|instead|beside|off`. */
  readonly name: string;
  /** One sentence for the help. */
  readonly about: string;
  readonly kinds: readonly Resource[];
  /** Whether another project owns these kinds, so that Latchkey can work beside it. */
  readonly hasOriginal: boolean;
  readonly options?: readonly Option[];
  /** Those of them that an uninstall goes by as well. */
  readonly uninstallOptions?: readonly Option[];
  crds(): Promise<readonly CrdDraft[]>;
  load(): Promise<FeatureModule>;
}
