import assert from "node:assert/strict";
import { before, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sidecarSetCrd } from "../../api/crds.ts";
import { sidecarSets } from "../../api/kinds.ts";
import { referencesAnnotation } from "../../api/marks.ts";
import type { KubeObject, Resource } from "../../api/objects.ts";
import { ApiError } from "../../kube/errors.ts";
import { installCrds } from "../../kube/install-crds.ts";
import { adminKube, removeQuietly, uniqueName } from "../../testing/cluster.ts";
import { saysSomethingNew, sendsFurther } from "./match-conditions.ts";

const configurations: Resource = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  plural: "validatingwebhookconfigurations",
  kind: "ValidatingWebhookConfiguration",
  namespaced: false,
};

type Object = KubeObject & { readonly spec: object; readonly webhooks: unknown };
type Conditions = ReturnType<typeof sendsFurther>;

before(async () => {
  const kube = await adminKube();
  if (!(await kube.serves(sidecarSets))) await installCrds(kube, [sidecarSetCrd], {});
});

/** A hook that nobody answers: what it is asked about is refused. It sees only SidecarSets with this label. */
async function deadHook(t: TestContext, label: string, matchConditions: Conditions) {
  const kube = await adminKube();
  const metadata = { name: label };
  t.after(() => removeQuietly(() => kube.delete(configurations, metadata)));
  await kube.create<Object>(configurations, {
    metadata,
    webhooks: [
      {
        name: "dead.latchkey.dev",
        clientConfig: { url: "https://127.0.0.1:1/" },
        rules: [
          {
            apiGroups: ["apps.kruise.io"],
            apiVersions: ["*"],
            resources: ["sidecarsets"],
            operations: ["CREATE", "UPDATE"],
          },
        ],
        objectSelector: { matchLabels: { test: label } },
        failurePolicy: "Fail",
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        timeoutSeconds: 1,
        matchConditions,
      },
    ],
  } as never);
}

/** Whether the API server asks the hook. What else it says would be a mistake in the expressions. */
async function isAsked(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return false;
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error));
    assert.match(error.message, /failed calling webhook "dead\.latchkey\.dev".*connection refused/);
    return true;
  }
}

interface Draft {
  readonly metadata?: object;
  readonly spec?: object;
}

/** Its container is no other SidecarSet's: the operator would object, where one is running. */
const specOf = (name: string) => ({
  selector: { matchLabels: { app: name } },
  containers: [{ name, image: "registry.example.com/sidecar:1" }],
});
const another = { matchLabels: { app: "another" } };
/** In place of the name of the container. */
const itsName = "its-name";
const anotherImage: Draft = { spec: { containers: [{ name: itsName, image: "registry.example.com/sidecar:2" }] } };
const reference = { namespace: "vault", name: "pull" };
const withReference: Draft = { spec: { imagePullSecrets: [reference] } };
const withAnnotation = (text: string | null): Draft => ({
  metadata: { annotations: { [referencesAnnotation]: text } },
});

interface Case {
  readonly name: string;
  readonly before: Draft;
  readonly change: Draft;
  readonly sendsFurther: boolean;
  readonly saysSomethingNew: boolean;
}

const changes: readonly Case[] = [
  {
    name: "a label",
    before: withReference,
    change: { metadata: { labels: { a: "b" } } },
    sendsFurther: false,
    saysSomethingNew: false,
  },
  {
    name: "a finalizer and an annotation of somebody else",
    before: withReference,
    change: { metadata: { finalizers: ["example.com/x"], annotations: { a: "b" } } },
    sendsFurther: false,
    saysSomethingNew: false,
  },
  {
    name: "the same spec again",
    before: withReference,
    change: withReference,
    sendsFurther: false,
    saysSomethingNew: false,
  },
  {
    name: "an image",
    before: withReference,
    change: anotherImage,
    sendsFurther: false,
    saysSomethingNew: true,
  },
  { name: "a first reference", before: {}, change: withReference, sendsFurther: true, saysSomethingNew: true },
  {
    name: "a second reference",
    before: withReference,
    change: { spec: { imagePullSecrets: [reference, { name: "other" }] } },
    sendsFurther: true,
    saysSomethingNew: true,
  },
  {
    name: "another namespace of the reference",
    before: withReference,
    change: { spec: { imagePullSecrets: [{ ...reference, namespace: "other" }] } },
    sendsFurther: true,
    saysSomethingNew: true,
  },
  {
    name: "a reference less",
    before: { spec: { imagePullSecrets: [reference, { name: "other" }] } },
    change: withReference,
    sendsFurther: false,
    saysSomethingNew: true,
  },
  {
    name: "the last reference less",
    before: withReference,
    change: { spec: { imagePullSecrets: null } },
    sendsFurther: false,
    saysSomethingNew: true,
  },
  {
    name: "another selector",
    before: withReference,
    change: { spec: { selector: another } },
    sendsFurther: true,
    saysSomethingNew: true,
  },
  {
    name: "another selector of a SidecarSet without references",
    before: {},
    change: { spec: { selector: another } },
    sendsFurther: false,
    saysSomethingNew: true,
  },
  {
    name: "a namespace",
    before: withReference,
    change: { spec: { namespace: "a" } },
    sendsFurther: true,
    saysSomethingNew: true,
  },
  {
    name: "no namespace any more",
    before: { spec: { ...withReference.spec, namespace: "a" } },
    change: { spec: { namespace: null } },
    sendsFurther: true,
    saysSomethingNew: true,
  },
  {
    name: "a namespace selector",
    before: withReference,
    change: { spec: { namespaceSelector: { matchLabels: { team: "a" } } } },
    sendsFurther: true,
    saysSomethingNew: true,
  },
  {
    name: "another namespace selector",
    before: { spec: { ...withReference.spec, namespaceSelector: { matchLabels: { team: "a" } } } },
    change: { spec: { namespaceSelector: { matchLabels: { team: "b" } } } },
    sendsFurther: true,
    saysSomethingNew: true,
  },
  {
    name: "our annotation",
    before: withReference,
    change: withAnnotation("vault/pull"),
    sendsFurther: true,
    saysSomethingNew: true,
  },
  {
    name: "our annotation no more",
    before: withAnnotation("vault/pull"),
    change: withAnnotation(null),
    sendsFurther: false,
    saysSomethingNew: true,
  },
  {
    name: "another selector of an annotated one",
    before: withAnnotation("vault/pull"),
    change: { spec: { selector: another } },
    sendsFurther: true,
    saysSomethingNew: true,
  },
];

const besideChanges: readonly Case[] = [
  {
    name: "anything without our annotation",
    before: { spec: { imagePullSecrets: [] } },
    change: { spec: { selector: another } },
    sendsFurther: false,
    saysSomethingNew: false,
  },
  {
    name: "our annotation",
    before: {},
    change: withAnnotation("vault/pull"),
    sendsFurther: true,
    saysSomethingNew: true,
  },
  {
    name: "another text of our annotation",
    before: withAnnotation("vault/pull"),
    change: withAnnotation("vault/pull,vault/other"),
    sendsFurther: true,
    saysSomethingNew: true,
  },
  {
    name: "our annotation no more",
    before: withAnnotation("vault/pull"),
    change: withAnnotation(null),
    sendsFurther: false,
    saysSomethingNew: false,
  },
  {
    name: "another selector of an annotated one",
    before: withAnnotation("vault/pull"),
    change: { spec: { selector: another } },
    sendsFurther: true,
    saysSomethingNew: false,
  },
  {
    name: "an image of an annotated one",
    before: withAnnotation("vault/pull"),
    change: anotherImage,
    sendsFurther: false,
    saysSomethingNew: false,
  },
  {
    name: "entries that go, so that the annotation comes into force",
    before: { ...withAnnotation("vault/pull"), ...withReference },
    change: { spec: { imagePullSecrets: null } },
    sendsFurther: true,
    saysSomethingNew: false,
  },
];

const draftOf = ({ metadata, spec }: Draft, labels: object, name = uniqueName("set")) => ({
  metadata: { ...metadata, name, labels },
  spec: { ...specOf(name), ...spec },
});

const modes = { instead: changes, beside: besideChanges };
for (const mode of ["instead", "beside"] as const) {
  for (const which of ["sendsFurther", "saysSomethingNew"] as const) {
    test(`the API server asks only about changes that matter: ${which}, ${mode}`, async (t) => {
      const kube = await adminKube();
      const label = uniqueName("asked");
      const labels = { test: label };
      const made = new Map<Case, string>();
      for (const each of modes[mode]) {
        const name = uniqueName("set");
        made.set(each, name);
        t.after(() => removeQuietly(() => kube.delete(sidecarSets, { name })));
        await kube.create<Object>(sidecarSets, draftOf(each.before, labels, name) as never);
      }
      await deadHook(t, label, { sendsFurther, saysSomethingNew }[which](mode));

      const create = (draft: Draft) =>
        kube.create<Object>(sidecarSets, draftOf(draft, labels) as never, { dryRun: true });
      const full = { ...withAnnotation("vault/pull"), ...withReference };
      while (!(await isAsked(create(full)))) await sleep(50);
      assert.equal(await isAsked(create({})), which === "saysSomethingNew" && mode === "instead", "a plain new one");
      for (const [each, name] of made) {
        const body = JSON.parse(JSON.stringify(each.change).replaceAll(itsName, name));
        const patch = { type: "merge", body } as const;
        const asked = await isAsked(kube.patch(sidecarSets, { name }, patch, { dryRun: true }));
        assert.equal(asked, each[which], each.name);
      }
    });
  }
}
