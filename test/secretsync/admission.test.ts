import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject, Resource } from "../../src/api/objects.ts";
import { ApiError } from "../../src/kube/errors.ts";
import { adminKube, testNamespaces, uniqueName } from "../../src/testing/cluster.ts";
import { at, collisionAnnotation, type SecretSync, secretSync, secretSyncs } from "../../src/testing/objects.ts";
import { createSecret } from "../../src/testing/secrets.ts";
import { createdSync, createSync, whenAdmissionListens } from "../../src/testing/syncs.ts";
import { createUser, type Right, syncRights } from "../../src/testing/users.ts";
import { untilGone, untilSynced } from "../../src/testing/wait.ts";

/** `get vault/db` or `create team`: a right, and where it is missing. */
type Missing = `${"get" | "create" | "update"} ${string}`;

/** Denied, with a message that names these rights and no others. */
async function assertDenied(write: Promise<unknown>, missing: readonly Missing[]): Promise<void> {
  await assert.rejects(write, (error) => {
    assert.ok(error instanceof ApiError, String(error));
    assert.equal(error.status, 403, error.message);
    const named = [
      ...error.message.matchAll(/\b(get|create|update)\b[^,:]*?((?:test|nowhere)-[0-9a-f]+(?:\/[\w-]+)?)/g),
    ];
    assert.deepEqual(named.map(([, verb, where]) => `${verb} ${where}`).sort(), [...missing].sort(), error.message);
    return true;
  });
}

const secretsIn = (namespace: string, verbs: readonly string[], name?: string): Right => ({
  verbs,
  resource: "secrets",
  namespace,
  ...(name && { name }),
});

interface Places {
  readonly vault: string;
  readonly teamA: string;
  readonly teamB: string;
}

const creations: readonly {
  readonly name: string;
  readonly rights: (places: Places) => readonly Right[];
  readonly missing: (places: Places) => readonly Missing[];
}[] = [
  {
    name: "no right at all",
    rights: () => [],
    missing: ({ vault, teamA, teamB }) => [
      `get ${vault}/db`,
      ...[teamA, teamB].flatMap((team): Missing[] => [`create ${team}`, `update ${team}`]),
    ],
  },
  {
    name: "may list and watch the source, but not get it",
    rights: ({ vault, teamA, teamB }) => [
      secretsIn(vault, ["list", "watch"]),
      ...[teamA, teamB].map((team) => secretsIn(team, ["create", "update"])),
    ],
    missing: ({ vault }) => [`get ${vault}/db`],
  },
  {
    name: "may get another Secret of that namespace",
    rights: ({ vault, teamA, teamB }) => [
      secretsIn(vault, ["get"], "other"),
      ...[teamA, teamB].map((team) => secretsIn(team, ["create", "update"])),
    ],
    missing: ({ vault }) => [`get ${vault}/db`],
  },
  {
    name: "may create in one namespace and update in the other",
    rights: ({ vault, teamA, teamB }) => [
      secretsIn(vault, ["get"]),
      secretsIn(teamA, ["create"]),
      secretsIn(teamB, ["update"]),
    ],
    missing: ({ teamA, teamB }) => [`update ${teamA}`, `create ${teamB}`],
  },
  {
    name: "may update only the Secret of that name",
    rights: ({ vault, teamA, teamB }) => [
      secretsIn(vault, ["get"]),
      secretsIn(teamA, ["create", "update"]),
      secretsIn(teamB, ["create"]),
      secretsIn(teamB, ["update"], "db"),
    ],
    missing: ({ teamB }) => [`update ${teamB}`],
  },
  {
    name: "has all rights by a group",
    rights: ({ vault, teamA, teamB }) =>
      [secretsIn(vault, ["get"]), ...[teamA, teamB].map((team) => secretsIn(team, ["create", "update"]))].map(
        (right) => ({
          ...right,
          byGroup: true,
        }),
      ),
    missing: () => [],
  },
  {
    name: "may get that very source by name, and write everywhere",
    rights: ({ vault, teamA, teamB }) => [
      secretsIn(vault, ["get"], "db"),
      ...[teamA, teamB].map((team) => secretsIn(team, ["create", "update"])),
    ],
    missing: () => [],
  },
];

for (const { name, rights, missing } of creations) {
  test(`who creates a SecretSync needs the rights himself: ${name}`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 3);
    const [vault, teamA, teamB] = namespaces;
    const places = { vault, teamA, teamB };
    await createSecret(kube, `${vault}/db`);
    const user = await createUser(t, syncRights, ...rights(places));
    const to = [`${teamA}/db`, `${teamB}/db`, `${teamB}/more`];
    const draft = secretSync(uniqueName("dry"), `${vault}/db`, { to });
    const dry = whenAdmissionListens(() => user.kube.create(secretSyncs, draft, { dryRun: true }));
    const lacking = missing(places);
    if (lacking.length > 0) {
      await assertDenied(dry, lacking);
      await assertDenied(createSync(t, user.kube, `${vault}/db`, { to }), lacking);
      return;
    }
    await dry;
    assert.equal(
      await kube.get(secretSyncs, { name: draft.metadata.name ?? "" }),
      undefined,
      "a dry run leaves nothing",
    );
    await untilSynced(kube, await createSync(t, user.kube, `${vault}/db`, { to }));
  });
}

const changes: readonly {
  readonly name: string;
  readonly body: (places: Places) => object;
  readonly missing: (places: Places) => readonly Missing[];
}[] = [
  { name: "pausing", body: () => ({ spec: { paused: true } }), missing: () => [] },
  { name: "a label", body: () => ({ metadata: { labels: { a: "b" } } }), missing: () => [] },
  { name: "a finalizer", body: () => ({ metadata: { finalizers: ["example.com/mine"] } }), missing: () => [] },
  {
    name: "a policy",
    body: () => ({ metadata: { annotations: { [collisionAnnotation]: "None" } } }),
    missing: () => [],
  },
  { name: "fewer destinations", body: ({ teamA }) => ({ spec: { dest: [at(`${teamA}/db`)] } }), missing: () => [] },
  {
    name: "one more in a namespace that is a destination",
    body: ({ teamA }) => ({ spec: { dest: [at(`${teamA}/db`), at(`${teamA}/more`)] } }),
    missing: () => [],
  },
  {
    name: "one in a new namespace",
    body: ({ teamA, teamB }) => ({ spec: { dest: [at(`${teamA}/db`), at(`${teamB}/db`)] } }),
    missing: ({ teamB }) => [`create ${teamB}`, `update ${teamB}`],
  },
  {
    name: "another source",
    body: () => ({ spec: { src: { name: "other" } } }),
    missing: ({ vault }) => [`get ${vault}/other`],
  },
  {
    name: "source and destination in one write",
    body: ({ teamB }) => ({ spec: { src: at(`${teamB}/source`), dest: [at(`${teamB}/db`)] } }),
    missing: ({ teamB }) => [`get ${teamB}/source`, `create ${teamB}`, `update ${teamB}`],
  },
];

for (const { name, body, missing } of changes) {
  test(`only what a write adds is asked for: ${name}`, async (t) => {
    const { kube, namespaces } = await testNamespaces(t, 3);
    const [vault, teamA, teamB] = namespaces;
    const places = { vault, teamA, teamB };
    const sync = await createSync(t, kube, `${vault}/db`, { to: [`${teamA}/db`, `${teamA}/second`] });
    const user = await createUser(t, syncRights);
    const patch = { type: "merge", body: body(places) } as const;
    // A dry run: what the operator would do about it is not the question here.
    const write = () => user.kube.patch<SecretSync>(secretSyncs, sync.metadata, patch, { dryRun: true });
    if (missing(places).length === 0) await whenAdmissionListens(write);
    else await assertDenied(whenAdmissionListens(write), missing(places));
  });
}

test("who has the rights may add, and deleting is asked of nobody", async (t) => {
  const { kube, namespaces } = await testNamespaces(t, 3);
  const [vault, teamA, teamB] = namespaces;
  await createSecret(kube, `${vault}/db`);
  const sync = await createdSync(t, kube, `${vault}/db`, { to: [`${teamA}/db`] });
  const user = await createUser(t, syncRights, secretsIn(teamB, ["create", "update"]));
  const body = { spec: { dest: [at(`${teamA}/db`), at(`${teamB}/db`)] } };
  const changed = await whenAdmissionListens(() =>
    user.kube.patch<SecretSync>(secretSyncs, sync.metadata, { type: "merge", body }),
  );
  await untilSynced(kube, changed);
  await user.kube.delete(secretSyncs, sync.metadata);
  await untilGone(kube, secretSyncs, sync.metadata);
});

test("the webhook fails closed for this kind only, and never stands in the way of a deletion", async () => {
  const kube = await adminKube();
  const configurations = await kube.list<Configuration>(webhookConfigurations);
  const hooks = configurations
    .flatMap(({ webhooks = [] }) => webhooks)
    .filter(({ rules }) => rules.some(({ resources }) => resources.includes("secretsyncs")));
  assert.equal(hooks.length, 1);
  assert.equal(hooks[0]?.failurePolicy, "Fail");
  assert.ok((hooks[0]?.timeoutSeconds ?? 10) <= 3);
  assert.deepEqual(
    hooks[0]?.rules.map(({ resources, operations }) => ({ resources, operations: [...operations].sort() })),
    [{ resources: ["secretsyncs"], operations: ["CREATE", "UPDATE"] }],
  );
});

test("the default roles edit and view say nothing about SecretSyncs", async () => {
  const kube = await adminKube();
  for (const name of ["view", "edit", "admin"]) {
    const role = await kube.get<KubeObject & { rules: { apiGroups?: string[] }[] }>(clusterRoles, { name });
    assert.ok(role);
    assert.equal(
      role.rules.some(({ apiGroups = [] }) => apiGroups.includes("package-operator.run")),
      false,
      name,
    );
  }
});

const clusterRoles: Resource = {
  group: "rbac.authorization.k8s.io",
  version: "v1",
  plural: "clusterroles",
  kind: "ClusterRole",
  namespaced: false,
};
const webhookConfigurations: Resource = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  plural: "validatingwebhookconfigurations",
  kind: "ValidatingWebhookConfiguration",
  namespaced: false,
};
interface Configuration extends KubeObject {
  readonly webhooks?: readonly {
    readonly failurePolicy?: string;
    readonly timeoutSeconds?: number;
    readonly rules: readonly { readonly resources: readonly string[]; readonly operations: readonly string[] }[];
  }[];
}
