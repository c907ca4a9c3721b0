import assert from "node:assert/strict";
import { test } from "node:test";
import type { Place, SourceState } from "../../pullsecrets/report.ts";
import { copyReasons, gravestOf, type Standing, standingOf } from "./standing.ts";

const reference = { namespace: "kubermatic", name: "hub" };
const copyName = "kubermatic-hub";
const [literal, suffixed] = [copyName, `${copyName}-0123456789`];

interface Known {
  readonly state?: SourceState;
  /** By served namespace: by which name a copy is there, and what came of it last. */
  readonly served: Readonly<Record<string, { readonly copy?: string; readonly place?: Place }>>;
  readonly leftovers?: Readonly<Record<string, Place>>;
}

function standing({ state = { kind: "usable" }, served, leftovers }: Known): Standing {
  const places = Object.entries(served).flatMap(([namespace, { place }]) =>
    place ? [[namespace, place] as const] : [],
  );
  const report = {
    state,
    places: new Map(places),
    ...(leftovers && { leftovers: new Map(Object.entries(leftovers)) }),
  };
  const copyIn = (namespace: string) => served[namespace]?.copy;
  return standingOf({ ...{ reference, copyName, report, state, copyIn }, served: Object.keys(served) });
}

const copied = { copy: literal, place: { kind: "copied", name: literal } } as const;

const sources: readonly { state: SourceState; reason: string; message: string }[] = [
  { state: { kind: "missing" }, reason: "SourceMissing", message: "Secret kubermatic/hub does not exist" },
  {
    state: { kind: "type-rejected", type: "Opaque" },
    reason: "SourceTypeRejected",
    message: "Secret kubermatic/hub is of type Opaque, which is no pull secret",
  },
  {
    state: { kind: "is-a-copy", original: "ns/first" },
    reason: "SourceIsACopy",
    message: "Secret kubermatic/hub is itself a copy of ns/first: name that one",
  },
  {
    state: { kind: "vetoed" },
    reason: "SourceVetoed",
    message: "Secret kubermatic/hub is not to be copied: its owner says so",
  },
  {
    state: { kind: "unreadable", message: "forbidden" },
    reason: "SourceUnreadable",
    message: "Secret kubermatic/hub cannot be read: forbidden",
  },
];
for (const { state, reason, message } of sources) {
  test(`a source that is ${state.kind}: ${reason}, and no namespace is to blame`, () => {
    const found = standing({ state, served: { app: {}, web: { copy: literal } } });
    assert.deepEqual(found.trouble, { reason, message });
    assert.equal(found.state, reason);
    assert.deepEqual(found.places, []);
    assert.equal(found.copies, 1);
  });
}

const places: readonly { name: string; at: Known["served"][string]; reason?: string; message?: string }[] = [
  { name: "a copy", at: copied },
  { name: "a copy that nobody has told of", at: { copy: literal } },
  { name: "a copy whose next write is under way", at: { copy: literal, place: { kind: "pending" } } },
  {
    name: "a copy whose next write failed",
    at: { copy: literal, place: { kind: "pending", message: "too many requests" } },
    reason: "Progressing",
    message: "app: too many requests",
  },
  {
    name: "a failure that lasts",
    at: { copy: literal, place: { kind: "pending", message: "failed calling webhook", isLasting: true } },
    reason: "TargetRefused",
    message: "app: failed calling webhook",
  },
  { name: "nothing yet", at: {}, reason: "Progressing", message: "app: not there yet" },
  { name: "pending", at: { place: { kind: "pending" } }, reason: "Progressing", message: "app: not there yet" },
  {
    name: "the server failed",
    at: { place: { kind: "pending", message: "no answer" } },
    reason: "Progressing",
    message: "app: no answer",
  },
  {
    name: "both names are held",
    at: { place: { kind: "collision", names: [literal, suffixed] } },
    reason: "Collision",
    message: `app: ${literal} and ${suffixed} are held by Secrets that are not ours`,
  },
  {
    name: "the only name is held",
    at: { place: { kind: "collision", names: [suffixed] } },
    reason: "Collision",
    message: `app: ${suffixed} is held by a Secret that is not ours`,
  },
  {
    name: "refused",
    at: { place: { kind: "refused", message: "exceeded quota" } },
    reason: "TargetRefused",
    message: "app: exceeded quota",
  },
  {
    name: "an update is refused",
    at: { copy: literal, place: { kind: "refused", message: "no" } },
    reason: "TargetRefused",
    message: "app: no",
  },
  {
    name: "a missing right",
    at: { place: { kind: "refused", message: "no", missing: { verb: "create", group: "", resource: "secrets" } } },
    reason: "Forbidden",
    message: "cannot create secrets in namespace app: the kubeconfig's user lacks the verb create on secrets",
  },
];
for (const { name, at, reason, message } of places) {
  test(`a namespace with ${name}: ${reason ?? "nothing wrong"}`, () => {
    const found = standing({ served: { app: at, web: copied } });
    assert.equal(found.state, reason ?? "Copied");
    assert.equal(found.copies, at.copy ? 2 : 1);
    assert.deepEqual(found.places, reason ? [{ namespace: "app", source: "kubermatic/hub", reason, message }] : []);
    assert.equal(found.trouble, undefined);
  });
}

test("before anybody has looked at the source everything is under way", () => {
  const found = standingOf({
    ...{ reference, copyName, served: ["app"] },
    report: undefined,
    state: undefined,
    copyIn: () => undefined,
  });
  assert.equal(found.state, "Progressing");
});

test("namespaces with a copy by another name are counted", () => {
  const other = { copy: suffixed, place: { kind: "copied", name: suffixed } } as const;
  const found = standing({ served: { app: other, web: copied, db: {} } });
  assert.deepEqual(found.suffixed, ["app"]);
  assert.equal(found.copies, 2);
});

test("a copy that ought to be gone is told of, wherever it is", () => {
  const found = standing({
    state: { kind: "missing" },
    served: {},
    leftovers: { app: { kind: "refused", message: "no" } },
  });
  assert.deepEqual(found.places, [
    { namespace: "app", source: "kubermatic/hub", reason: "TargetRefused", message: "app: no" },
  ]);
  assert.equal(found.state, "SourceMissing");
});

test("the gravest of all reasons is told, whatever came first", () => {
  const troubles = copyReasons.map((reason) => ({ reason, message: "" }));
  for (const [at, reason] of copyReasons.entries()) {
    assert.equal(gravestOf(troubles.slice(at).toReversed())?.reason, reason);
  }
  assert.equal(gravestOf([]), undefined);
});
