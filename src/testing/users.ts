import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubeObject, Resource } from "../api/objects.ts";
import { mayDo } from "../kube/access-review.ts";
import type { Kube } from "../kube/client.ts";
import { adminKube, connect, removeQuietly, uniqueName } from "./cluster.ts";

const rbac = (plural: string, kind: string, namespaced: boolean): Resource => ({
  group: "rbac.authorization.k8s.io",
  version: "v1",
  plural,
  kind,
  namespaced,
});
const roles = rbac("roles", "Role", true);
const roleBindings = rbac("rolebindings", "RoleBinding", true);
const clusterRoles = rbac("clusterroles", "ClusterRole", false);
const clusterRoleBindings = rbac("clusterrolebindings", "ClusterRoleBinding", false);

export interface Right {
  readonly verbs: readonly string[];
  readonly group?: string;
  readonly resource: string;
  readonly namespace?: string;
  readonly name?: string;
  /** Given to a group that the user is in, not to the user. */
  readonly byGroup?: boolean;
}

export interface User {
  readonly name: string;
  /** What this user may do, by the API server's own judgement. */
  readonly kube: Kube;
  grant(...rights: readonly Right[]): Promise<void>;
}

const friendsOf = (user: string) => `friends-of-${user}`;
const groupsOf = (user: string) => ["system:authenticated", friendsOf(user)];

/** Somebody with exactly these rights; they are taken away after the test. */
export async function createUser(t: TestContext, ...rights: readonly Right[]): Promise<User> {
  const admin = await adminKube();
  const name = uniqueName("user");
  const user: User = {
    name,
    kube: await connect({ user: name, groups: groupsOf(name) }),
    grant: async (...more) => {
      await Promise.all(more.map((right) => grant(t, admin, name, right)));
    },
  };
  await user.grant(...rights);
  return user;
}

/** Writes and reads of SecretSyncs, and nothing about Secrets. */
export const syncRights: Right = {
  verbs: ["create", "get", "list", "watch", "update", "patch", "delete"],
  group: "package-operator.run",
  resource: "secretsyncs",
};

async function grant(t: TestContext, kube: Kube, user: string, right: Right): Promise<void> {
  const { namespace, verbs, group = "", resource, name: resourceName } = right;
  const name = uniqueName("grant");
  const [role, binding] = namespace ? [roles, roleBindings] : [clusterRoles, clusterRoleBindings];
  const metadata = { name, ...(namespace && { namespace }) };
  t.after(() => removeQuietly(() => kube.delete(binding, metadata)));
  t.after(() => removeQuietly(() => kube.delete(role, metadata)));
  await kube.create<KubeObject & { rules: unknown }>(role, {
    metadata,
    rules: [
      { apiGroups: [group], resources: [resource], verbs, ...(resourceName && { resourceNames: [resourceName] }) },
    ],
  });
  await kube.create<KubeObject & { roleRef: unknown; subjects: unknown }>(binding, {
    metadata,
    roleRef: { apiGroup: role.group, kind: role.kind, name },
    subjects: [
      right.byGroup
        ? { kind: "Group", name: friendsOf(user), apiGroup: role.group }
        : { kind: "User", name: user, apiGroup: role.group },
    ],
  });
  await untilGranted(kube, user, right);
}

/** The authorizer hears of roles a moment after they are stored. */
async function untilGranted(kube: Kube, user: string, { verbs, group = "", resource, namespace, name }: Right) {
  for (const deadline = performance.now() + 60_000; ; await sleep(50)) {
    const attributes = { resource, group, ...(namespace && { namespace }), ...(name && { name }) };
    const reviews = await Promise.all(
      verbs.map((verb) => mayDo(kube, { username: user, groups: groupsOf(user) }, { verb, ...attributes })),
    );
    if (reviews.every(({ allowed }) => allowed)) return;
    if (performance.now() > deadline) throw new Error(`${user} is not granted ${verbs.join(", ")} of ${resource}`);
  }
}
