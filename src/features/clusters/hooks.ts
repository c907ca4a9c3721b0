import { clusters, kubermaticConfigurations } from "../../api/kinds.ts";
import type { KubermaticConfiguration } from "../../api/kubermatic-configuration.ts";
import { referencesAnnotation } from "../../api/marks.ts";
import { type KubeObject, keyOf } from "../../api/objects.ts";
import type { Kube } from "../../kube/client.ts";
import { parseReferences, type Reference } from "../../pullsecrets/references.ts";
import { type Hook, type Verdict, webhookConfigurationOf } from "../../runtime/admission.ts";
import { reviewRights, secretRight } from "../../runtime/writer-rights.ts";
import { judgeDockerConfig } from "./docker-config.ts";
import { clusterSaysSomething, configurationSaysSomething, configurationSendsFurther } from "./match-conditions.ts";
import { annotationObjection, type ClustersMode, clusterAnnotations } from "./record.ts";

const common = {
  kind: "validating",
  configuration: webhookConfigurationOf("clusters"),
  operations: ["CREATE", "UPDATE"],
  sideEffects: "None",
} as const;

const allowed: Verdict = { allowed: true };
const refused = (message: string): Verdict => ({ allowed: false, code: 422, message });

/** Beside the original its annotations must be readable; on a stand-in they do nothing. */
export function clusterHook(mode: ClustersMode): Hook {
  return {
    ...common,
    name: "annotations.clusters.latchkey.dev",
    path: "/validate/clusters/annotations",
    resource: clusters,
    failurePolicy: "Ignore",
    matchConditions: clusterSaysSomething(),
    review: async ({ object }) => reviewAnnotations((object as KubeObject).metadata.annotations ?? {}, mode),
  };
}

export function reviewAnnotations(annotations: Readonly<Record<string, string>>, mode: ClustersMode): Verdict {
  if (mode === "beside") {
    const objection = annotationObjection(annotations);
    return objection === undefined ? allowed : refused(objection);
  }
  const ignored = clusterAnnotations.filter((name) => annotations[name]);
  return {
    allowed: true,
    warnings: ignored.map((name) => `annotation ${name} is ignored: this Cluster has fields of its own`),
  };
}

/** Whoever sets the default could have any pull secret sent to every cluster: he must be able to read it himself. */
export function configurationReferenceHook(kube: Kube): Hook {
  return {
    ...common,
    name: "references.kubermaticconfigurations.latchkey.dev",
    path: "/validate/kubermaticconfigurations/references",
    resource: kubermaticConfigurations,
    failurePolicy: "Fail",
    matchConditions: configurationSendsFurther(),
    review: ({ object, oldObject, user }, { signal }) => {
      const known = oldObject ? referencesIn(oldObject as KubermaticConfiguration).map(keyOf) : [];
      const added = referencesIn(object as KubermaticConfiguration).filter((each) => !known.includes(keyOf(each)));
      const wanted = added.map((reference) => secretRight("get", reference));
      return reviewRights(kube, user, wanted, { kind: kubermaticConfigurations.kind, signal });
    },
  };
}

function referencesIn({ spec, metadata }: KubermaticConfiguration): readonly Reference[] {
  const reference = spec?.userCluster?.imagePullSecretRef;
  const parsed = parseReferences(metadata.annotations?.[referencesAnnotation] ?? "", {});
  return [...(reference ? [reference] : []), ...("references" in parsed ? parsed.references : [])];
}

/** A text that cannot be used is taken all the same: the last valid default stays in use. */
export function configurationHook(mode: ClustersMode): Hook {
  return {
    ...common,
    name: "defaults.kubermaticconfigurations.latchkey.dev",
    path: "/validate/kubermaticconfigurations/defaults",
    resource: kubermaticConfigurations,
    failurePolicy: "Ignore",
    matchConditions: configurationSaysSomething(),
    review: async ({ object }) => reviewDefault(object as KubermaticConfiguration, mode),
  };
}

export function reviewDefault({ spec, metadata }: KubermaticConfiguration, mode: ClustersMode): Verdict {
  const annotation = metadata.annotations?.[referencesAnnotation] ?? "";
  const parsed = parseReferences(annotation, {});
  if (mode === "beside" && "objection" in parsed)
    return refused(`annotation ${referencesAnnotation}: ${parsed.objection}`);
  const verdict = judgeDockerConfig(spec?.userCluster?.imagePullSecret);
  const field = "spec.userCluster.imagePullSecret";
  const warnings = [
    ...(mode === "instead" && annotation
      ? [`annotation ${referencesAnnotation} is ignored: there is a field for it`]
      : []),
    ...(verdict.kind === "malformed"
      ? [`${field}: not valid JSON at line ${verdict.line}, column ${verdict.column}; it is not used`]
      : []),
    ...(verdict.kind === "no-auths" ? [`${field}: no auths with at least one entry; it is not used`] : []),
  ];
  return { allowed: true, warnings };
}
