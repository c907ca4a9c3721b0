import { type KubeObject, keyOf, type Resource } from "../../api/objects.ts";
import type { AccessAttributes } from "../../kube/access-review.ts";
import type { Kube } from "../../kube/client.ts";
import { type Hook, webhookConfigurationOf } from "../../runtime/admission.ts";
import { reviewRights, secretRight } from "../../runtime/writer-rights.ts";
import { sendsFurther } from "./match-conditions.ts";
import { isNarrower } from "./narrower.ts";
import { recordOf, type SidecarSetRecord, type SidecarsMode } from "./record.ts";

interface ReferenceHookOptions {
  readonly kube: Kube;
  readonly mode: SidecarsMode;
  readonly resource: Resource;
  readonly defaultNamespace: string;
}

/** Whoever writes a SidecarSet could have any pull secret copied to where he can read it: he must be able to read it himself. */
export function referenceHook({ kube, resource, ...options }: ReferenceHookOptions): Hook {
  const recordFor = (object: unknown) => comparedOf(object as KubeObject, options);
  return {
    kind: "validating",
    name: "references.sidecarsets.latchkey.dev",
    path: "/validate/sidecarsets/references",
    configuration: webhookConfigurationOf("sidecars"),
    resource,
    operations: ["CREATE", "UPDATE"],
    failurePolicy: "Fail",
    sideEffects: "None",
    matchConditions: sendsFurther(options.mode),
    review: ({ object, oldObject, user }, { signal }) => {
      const wanted = rightsFor(recordFor(object), oldObject ? recordFor(oldObject) : undefined);
      return reviewRights(kube, user, wanted, { kind: resource.kind, signal });
    },
  };
}

type Compared = Pick<SidecarSetRecord, "spec" | "references">;

/** What the annotation says is ignored until the original comes: nobody asks about it then. */
export function comparedOf(
  object: KubeObject,
  { mode, defaultNamespace }: Omit<ReferenceHookOptions, "kube" | "resource">,
): Compared {
  const { spec, references } = recordOf(object, { mode, defaultNamespace });
  const later = mode === "instead" ? recordOf(object, { mode: "beside", defaultNamespace }).references : [];
  return { spec, references: [...references, ...later] };
}

/** What goes to no further Pods needs no right. */
export function rightsFor(after: Compared, before: Compared | undefined): readonly AccessAttributes[] {
  const known = before && isNarrower(after.spec, before.spec) ? before.references.map(keyOf) : [];
  const sources = new Map(after.references.map((reference) => [keyOf(reference), reference]));
  return [...sources].flatMap(([key, { namespace, name }]) =>
    known.includes(key) ? [] : [secretRight("get", { namespace, name })],
  );
}
