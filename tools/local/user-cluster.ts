import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { stringify } from "yaml";
import { Kube } from "../../src/kube/client.ts";
import { connectionOfKubeconfig } from "../../src/kube/kubeconfig.ts";
import { kubeconfigOf } from "./certificates.ts";
import type { ControlPlane } from "./control-plane.ts";
import { applyAccount, type Manifest, readManifests, userClusterRoleFile } from "./least-privilege.ts";

/** One verb on one resource, wherever the role gives it. */
export interface Right {
  readonly verb: string;
  readonly resource: string;
}

interface Rule {
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

interface Role extends Manifest {
  readonly rules?: readonly Rule[];
}

/**
 * Applies deploy/user-cluster-role.yaml, less the rights named, and returns the text of a kubeconfig with exactly these
 * rights, once they are in force. May be asked again of the same control plane, for more or fewer rights.
 */
export async function userClusterKubeconfig(
  plane: ControlPlane,
  { without = [], signal }: { readonly without?: readonly Right[]; readonly signal?: AbortSignal | undefined } = {},
): Promise<string> {
  const published = readManifests<Role>(userClusterRoleFile);
  refuseUnknown(published, without);
  const wanted = published.map((manifest) => lessenedRole(manifest, without));

  const file = join(plane.dir, "user-cluster-role.yaml");
  writeFileSync(file, wanted.map((manifest) => stringify(manifest)).join("---\n"));
  const { name, token } = await applyAccount(plane, file, { signal });
  const kubeconfig = kubeconfigOf(plane.server, plane.admin.ca, name, { token });
  await untilInForce(kubeconfig, rulesOf(wanted), rulesOf(published), { signal });
  return kubeconfig;
}

const rulesOf = (manifests: readonly Role[]): readonly Rule[] => manifests.flatMap(({ rules = [] }) => rules);
const gives = (rule: Rule, { verb, resource }: Right): boolean =>
  rule.verbs.includes(verb) && rule.resources.includes(resource);

/** A rule for several resources that loses something becomes a rule for each. */
function lessenedRole(manifest: Role, without: readonly Right[]): Role {
  if (!manifest.rules) return manifest;
  const rules = manifest.rules.flatMap((rule) => {
    if (!without.some((right) => gives(rule, right))) return [rule];
    const isKept = (right: Right) => !without.some((other) => isDeepStrictEqual(other, right));
    const lessened = rule.resources.map((resource) => ({
      ...rule,
      resources: [resource],
      verbs: rule.verbs.filter((verb) => isKept({ verb, resource })),
    }));
    return lessened.filter(({ verbs }) => verbs.length > 0);
  });
  return { ...manifest, rules };
}

/** Else a misspelt right would leave a test with all of them. */
function refuseUnknown(manifests: readonly Role[], without: readonly Right[]): void {
  const rules = rulesOf(manifests);
  const unknown = without.find((right) => !rules.some((rule) => gives(rule, right)));
  if (unknown) throw new Error(`${userClusterRoleFile} does not give ${unknown.verb} on ${unknown.resource}`);
}

/** The authorizer hears of roles a moment after they are stored. */
async function untilInForce(
  kubeconfig: string,
  wanted: readonly Rule[],
  published: readonly Rule[],
  { signal }: { readonly signal?: AbortSignal | undefined },
): Promise<void> {
  const connection = await connectionOfKubeconfig(kubeconfig, { allowFiles: false, allowExec: false });
  await using kube = new Kube(connection, { userAgent: "latchkey-test" });
  for (const deadline = performance.now() + 60_000; ; await sleep(50, undefined, { signal })) {
    const given = await rulesInForce(kube, signal);
    const isGiven = (rule: Rule) => given.some((other) => isDeepStrictEqual(other, rule));
    const isWanted = (rule: Rule) => wanted.some((other) => isDeepStrictEqual(other, rule));
    if (wanted.every(isGiven) && !published.some((rule) => isGiven(rule) && !isWanted(rule))) return;
    if (performance.now() > deadline) throw new Error(`the role is not in force, but ${JSON.stringify(given)}`);
  }
}

/** What the API server thinks the user of the kubeconfig may do in kube-system. */
async function rulesInForce(kube: Kube, signal: AbortSignal | undefined): Promise<readonly Rule[]> {
  const body = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectRulesReview",
    spec: { namespace: "kube-system" },
  };
  const path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
  const { status } = (await kube.request("POST", path, { body, storesNothing: true, signal })) as {
    readonly status: { readonly resourceRules: readonly Rule[] };
  };
  return status.resourceRules;
}
