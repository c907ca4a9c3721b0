import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { type TestContext, test } from "node:test";
import type { Crd, CrdDraft } from "../api/crds.ts";
import { standInLabel } from "../api/marks.ts";
import { crds, type Resource } from "../api/objects.ts";
import { adminKube } from "../testing/cluster.ts";
import { installCrds } from "./install-crds.ts";

function widgets(t: TestContext): { readonly crd: CrdDraft; readonly resource: Resource; readonly name: string } {
  const group = `g${randomBytes(5).toString("hex")}.example`;
  const name = `widgets.${group}`;
  t.after(async () => (await adminKube()).delete(crds, { name }));
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const names = { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" };
  const version = {
    name: "v1",
    served: true,
    storage: true,
    schema,
    additionalPrinterColumns: [],
    subresources: { status: {} },
  };
  const spec = { group, scope: "Namespaced", names, versions: [version] } as const;
  const resource = { group, version: "v1", plural: "widgets", kind: "Widget", namespaced: true };
  return { crd: { metadata: { name }, spec }, resource, name };
}

test("a kind can be listed as soon as its CRD is installed, and installing again changes nothing", async (t) => {
  const kube = await adminKube();
  const { crd, resource, name } = widgets(t);
  await installCrds(kube, [crd]);
  assert.deepEqual(await kube.list(resource), []);
  const before = await kube.getMetadata(crds, { name });
  assert.equal(before?.metadata.labels?.[standInLabel], "true");
  await installCrds(kube, [crd]);
  const after = await kube.getMetadata(crds, { name });
  assert.equal(after?.metadata.generation, before?.metadata.generation);
});

test("somebody else's CRD stays as it is, and then none is installed", async (t) => {
  const kube = await adminKube();
  const [theirs, ours] = [widgets(t), widgets(t)];
  await kube.create<Crd>(crds, theirs.crd);
  await assert.rejects(
    installCrds(kube, [ours.crd, theirs.crd]),
    new RegExp(`${theirs.name} exists and is not Latchkey's`),
  );
  assert.equal(await kube.getMetadata(crds, { name: ours.name }), undefined);
  assert.equal((await kube.getMetadata(crds, { name: theirs.name }))?.metadata.labels, undefined);
});
