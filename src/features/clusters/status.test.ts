import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClusterStatus } from "../../api/cluster.ts";
import type { InjectionState, Way } from "./injection/mode.ts";
import { type ClusterRecord, recordOf } from "./record.ts";
import type { CopyReason, PlaceTrouble, Standing } from "./standing.ts";
import { clusterStatusOf, type Serving, type View } from "./status.ts";

const policy: Way = { kind: "Policy", version: "v1" };
const active: InjectionState = { kind: "active", suffixed: 0, exempt: 0, contested: [] };

const standing = (name: string, over: Partial<Standing> = {}): Standing => ({
  ...{ reference: { namespace: "kubermatic", name }, copyName: `kubermatic-${name}`, state: "Copied", copies: 4 },
  ...{ trouble: undefined, places: [], suffixed: [], ...over },
});
const place = (namespace: string, reason: CopyReason, message = `${namespace}: words`): PlaceTrouble => ({
  ...{ namespace, source: "kubermatic/hub", reason, message },
});
const twelve = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "app", "web"];
const serving = (over: Partial<Serving> = {}): Serving => ({
  ...{
    standings: [standing("hub")],
    strays: [],
    total: 12,
    served: twelve,
    injection: active,
    blocked: undefined,
    uninspected: undefined,
  },
  ...over,
});
const view = (over: Partial<View> = {}): View => ({
  link: { kind: "connected" },
  identity: { id: "uid-1", version: "v1.36.4" },
  way: policy,
  credentials: { from: "Cluster", references: [] },
  rival: undefined,
  serving: serving(),
  ...over,
});
const record = (spec: object = {}, status?: ClusterStatus): ClusterRecord => {
  const metadata = { name: "c1", uid: "1", resourceVersion: "7", creationTimestamp: "", generation: 3 };
  return recordOf({ metadata, spec, ...(status && { status }) } as never, "instead");
};

type Said = Readonly<Record<string, string>>;
/** Each condition in one line. */
function saidOf(seen: View, of = record()): Said {
  const { conditions = [] } = clusterStatusOf(of, seen);
  return Object.fromEntries(
    conditions.map(({ type, status, reason, message }) => [type, `${status} ${reason}: ${message}`]),
  );
}

const fine: Said = {
  Ready: "True Served: 1 reference in 12/12 namespaces, mode Policy",
  Reachable: "True Connected: its API server answers",
  PullSecretsReady: "True AllCopied: 1 pull secret in 12/12 namespaces",
  Injection: "True Active: mode Policy",
  Paused: "False SpecSaysUnpaused: spec.pause is false",
};
const unknownFor = (reason: string): Said => ({
  PullSecretsReady: `Unknown ${reason}: not known while the cluster is not served`,
  Injection: `Unknown ${reason}: not known while the cluster is not served`,
});

const injected = (injection: InjectionState) => view({ serving: serving({ injection }) });
const copied = (over: Partial<Serving>) => view({ serving: serving(over) });
const missing = standing("hub", {
  ...{ state: "SourceMissing", copies: 0 },
  trouble: { reason: "SourceMissing", message: "Secret kubermatic/hub does not exist" },
});
const collided = standing("quay", { state: "Collision", places: [place("app", "Collision", "app: both are held")] });
const lost = { reason: "KubeconfigMissing", message: "Secret fleet/c1 does not exist" } as const;
const unavailable: Way = { kind: "unavailable", message: "needs policies" };

const cases: readonly { name: string; seen: View; of?: ClusterRecord; said: Said }[] = [
  { name: "everything is as it should be", seen: view(), said: {} },
  {
    name: "three references",
    seen: copied({ standings: ["a", "b", "c"].map((name) => standing(name)) }),
    said: {
      Ready: "True Served: 3 references in 12/12 namespaces, mode Policy",
      PullSecretsReady: "True AllCopied: 3 pull secrets in 12/12 namespaces",
    },
  },
  {
    name: "nothing to copy",
    seen: copied({ standings: [] }),
    said: {
      Ready: "True Served: 0 references in 12/12 namespaces, mode Policy",
      PullSecretsReady: "True NothingToCopy: no pull secrets are named",
    },
  },
  {
    name: "unreachable",
    seen: view({ link: { kind: "unreachable", message: "no answer" }, serving: undefined }),
    said: {
      Ready: "False Unreachable: no answer",
      Reachable: "False Unreachable: no answer",
      ...unknownFor("Unreachable"),
    },
  },
  {
    name: "unauthorized",
    seen: view({ link: { kind: "unauthorized", message: "refused" }, serving: undefined }),
    said: {
      Ready: "False Unauthorized: refused",
      Reachable: "False Unauthorized: refused",
      ...unknownFor("Unauthorized"),
    },
  },
  {
    name: "no kubeconfig",
    seen: view({ link: { kind: "no-kubeconfig", ...lost }, serving: undefined }),
    said: {
      Ready: `False KubeconfigMissing: ${lost.message}`,
      Reachable: `False KubeconfigMissing: ${lost.message}`,
      ...unknownFor("KubeconfigMissing"),
    },
  },
  {
    name: "a kubeconfig that is refused",
    seen: view({ link: { kind: "no-kubeconfig", reason: "KubeconfigRefused", message: "exec" }, serving: undefined }),
    said: {
      Ready: "False KubeconfigRefused: exec",
      Reachable: "False KubeconfigRefused: exec",
      ...unknownFor("KubeconfigRefused"),
      Stalled: "True KubeconfigRefused: exec",
    },
  },
  {
    name: "two Clusters for one cluster",
    seen: view({ rival: "c0", serving: undefined }),
    said: {
      Ready: "False DuplicateTarget: Cluster c0 leads to the same cluster and is the older one",
      ...unknownFor("DuplicateTarget"),
      Stalled: "True DuplicateTarget: Cluster c0 leads to the same cluster and is the older one",
    },
  },
  {
    name: "no right to look at it",
    seen: view({ link: { kind: "forbidden", message: "cannot get namespaces" }, serving: undefined }),
    said: {
      Ready: "False Forbidden: cannot get namespaces",
      PullSecretsReady: "False Forbidden: cannot get namespaces",
      Injection: "False Forbidden: cannot get namespaces",
    },
  },
  {
    name: "no right to look at its Secrets",
    seen: copied({ blocked: { reason: "Forbidden", message: "cannot list secrets" } }),
    said: { Ready: "False Forbidden: cannot list secrets", PullSecretsReady: "False Forbidden: cannot list secrets" },
  },
  {
    name: "no right to look through all copies",
    seen: copied({ uninspected: { reason: "Forbidden", message: "cannot list secrets" } }),
    said: { Ready: "False Forbidden: cannot list secrets", PullSecretsReady: "False Forbidden: cannot list secrets" },
  },
  {
    name: "references that cannot be read",
    seen: view({
      credentials: { from: "Cluster", references: [], objection: { reason: "InvalidReferences", message: "bad" } },
    }),
    said: { Ready: "False InvalidReferences: bad", PullSecretsReady: "False InvalidReferences: bad" },
  },
  {
    name: "a missing source",
    seen: copied({ standings: [missing] }),
    said: {
      Ready: "False SourceMissing: Secret kubermatic/hub does not exist",
      PullSecretsReady: "False SourceMissing: Secret kubermatic/hub does not exist",
    },
  },
  {
    name: "all problems are told, under the gravest reason",
    seen: copied({
      standings: [collided, missing],
      injection: { kind: "failed", reason: "Forbidden", message: "cannot" },
    }),
    said: {
      Ready: "False SourceMissing: Secret kubermatic/hub does not exist; app: both are held; cannot",
      PullSecretsReady: "False SourceMissing: Secret kubermatic/hub does not exist; app: both are held",
      Injection: "False Forbidden: cannot",
    },
  },
  {
    name: "under way",
    seen: copied({
      standings: [standing("hub", { places: ["a", "b", "c", "d"].map((each) => place(each, "Progressing")) })],
    }),
    said: { Ready: "False Progressing: 8/12 namespaces", PullSecretsReady: "False Progressing: 8/12 namespaces" },
  },
  {
    name: "refused here, under way there",
    seen: copied({
      standings: [standing("hub", { places: [place("a", "Progressing"), place("b", "TargetRefused")] })],
    }),
    said: {
      Ready: "False TargetRefused: b: words; 10/12 namespaces",
      PullSecretsReady: "False TargetRefused: b: words; 10/12 namespaces",
    },
  },
  {
    name: "a copy that nobody references cannot be deleted",
    seen: copied({ standings: [], strays: [place("app", "TargetRefused", "app: no")] }),
    said: { Ready: "False TargetRefused: app: no", PullSecretsReady: "False TargetRefused: app: no" },
  },
  {
    name: "an injection that is being written",
    seen: injected({ kind: "pending" }),
    said: { Ready: "False Progressing: being written", Injection: "Unknown Progressing: being written" },
  },
  {
    name: "names and accounts that differ",
    seen: injected({ kind: "active", suffixed: 1, exempt: 2, contested: [] }),
    said: {
      Injection:
        "True Active: mode Policy; 1 namespace with names of its own; 2 ServiceAccounts exempt, enforcing mountable Secrets",
    },
  },
  {
    name: "accounts that somebody else changes back",
    seen: injected({ kind: "active", suffixed: 0, exempt: 0, contested: ["app/default", "app/web"] }),
    said: { Injection: "True ServiceAccountsContested: somebody else takes our entries out of app/default, app/web" },
  },
  {
    name: "mode None is no problem",
    seen: view({ way: { kind: "None" }, serving: serving({ injection: { kind: "disabled" } }) }),
    said: {
      Ready: "True Served: 1 reference in 12/12 namespaces, mode None",
      Injection: "False Disabled: mode None: Pods are given nothing",
    },
  },
  {
    name: "a mode that cannot be had",
    seen: view({
      way: unavailable,
      serving: serving({ injection: { kind: "failed", reason: "ModeNotAvailable", message: "needs policies" } }),
    }),
    said: { Ready: "False ModeNotAvailable: needs policies", Injection: "False ModeNotAvailable: needs policies" },
  },
  {
    name: "our policy's name is held",
    seen: injected({ kind: "failed", reason: "Collision", message: "is not ours" }),
    said: { Ready: "False Collision: is not ours", Injection: "False Collision: is not ours" },
  },
  {
    name: "paused before anything was said",
    seen: view({ serving: undefined }),
    of: record({ pause: true, pauseReason: "maintenance" }),
    said: {
      Ready: "False SpecSaysPaused: maintenance",
      PullSecretsReady: "Unknown Progressing: not looked at yet",
      Injection: "Unknown Progressing: being written",
      Paused: "True SpecSaysPaused: maintenance",
    },
  },
];
for (const { name, seen, of, said } of cases) {
  test(`conditions: ${name}`, () => assert.deepEqual(saidOf(seen, of), { ...fine, ...said }));
}

test("a status tells which cluster, whose credentials and how they stand", () => {
  const standings = [
    standing("hub", { copies: 11, suffixed: ["app"], state: "TargetRefused", places: [place("web", "TargetRefused")] }),
  ];
  const { conditions, ...status } = clusterStatusOf(record(), copied({ standings, total: 14 }));
  assert.deepEqual(status, {
    observedGeneration: 3,
    clusterID: "uid-1",
    serverVersion: "v1.36.4",
    credentialsFrom: "Cluster",
    injection: { mode: "Policy" },
    namespaces: { total: 14, served: 12, excluded: 2, failed: 1, summary: "11/12" },
    imagePullSecrets: [
      {
        namespace: "kubermatic",
        name: "hub",
        copyName: "kubermatic-hub",
        state: "TargetRefused",
        copies: 11,
        suffixed: 1,
      },
    ],
    failures: [{ namespace: "web", source: "kubermatic/hub", reason: "TargetRefused", message: "web: words" }],
  });
  assert.ok(conditions?.every((condition) => condition.observedGeneration === 3));
});

test("ten failures are named, all namespaces are counted once, and those under way are no failures", () => {
  const [late = "", ...others] = twelve;
  const all = others.map((namespace) => place(namespace, "TargetRefused"));
  const standings = [
    standing("hub", { places: [...all, place(late, "Progressing")] }),
    standing("quay", { places: all }),
  ];
  const status = clusterStatusOf(record(), copied({ standings }));
  assert.equal(status.failures?.length, 10);
  assert.ok(status.failures?.every(({ reason }) => reason === "TargetRefused"));
  assert.equal(status.namespaces?.failed, 12);
  assert.equal(status.namespaces?.summary, "0/12");
  assert.match(saidOf(copied({ standings })).PullSecretsReady ?? "", /app: words; and 1 more; 0\/12 namespaces$/);
});

test("a namespace that is not served does not count, whatever is left there", () => {
  const strays = [place("elsewhere", "TargetRefused")];
  const { namespaces, failures } = clusterStatusOf(record(), copied({ strays, total: 13 }));
  assert.deepEqual(namespaces, { total: 13, served: 12, excluded: 1, failed: 0, summary: "12/12" });
  assert.equal(failures?.[0]?.namespace, "elsewhere");
});

test("words without end are cut", () => {
  const standings = [standing("hub", { places: [place("app", "TargetRefused", "x".repeat(100_000))] })];
  const { conditions = [], failures = [] } = clusterStatusOf(record(), copied({ standings }));
  for (const { message } of [...conditions, ...failures]) assert.ok(message.length <= 2_048);
});

test("what is not looked at stays as it was last seen", () => {
  const before = clusterStatusOf(record(), view());
  const gone = view({
    link: { kind: "unreachable", message: "no answer" },
    ...{ identity: undefined, way: undefined, serving: undefined },
  });
  const after = clusterStatusOf(record({}, before), gone);
  const { conditions: _before, ...rest } = before;
  const { conditions: _after, ...kept } = after;
  assert.deepEqual(kept, rest);

  const paused = saidOf(view({ serving: undefined }), record({ pause: true }, before));
  assert.equal(paused.PullSecretsReady, fine.PullSecretsReady);
  assert.equal(paused.Injection, fine.Injection);
  assert.equal(paused.Ready, "False SpecSaysPaused: spec.pause is true");
});
