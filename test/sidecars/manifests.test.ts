import assert from "node:assert/strict";
import { before, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sidecarSetCrd } from "../../src/api/crds.ts";
import { crdNameOf, crds, type Resource } from "../../src/api/objects.ts";
import { ApiError } from "../../src/kube/errors.ts";
import { installCrds } from "../../src/kube/install-crds.ts";
import { adminKube, kubectl, removeQuietly, uniqueName } from "../../src/testing/cluster.ts";
import { type Container, type SidecarSet, sidecarSet, sidecarSets } from "../../src/testing/sidecars.ts";
import { whenAdmissionListens } from "../../src/testing/syncs.ts";

before(async () => {
  const kube = await adminKube();
  if (!(await kube.serves(sidecarSets))) await installCrds(kube, [sidecarSetCrd]);
});

/** The example of Kruise's proposal, its dots filled in and `- naamespace` spelt right. */
const manifest = `apiVersion: apps.kruise.io/v1alpha1
kind: SidecarSet
metadata:
  name: test-sidecarset
  namespace: scs-ns
spec:
  selector: { matchLabels: { app: x } }
  updateStrategy: { type: RollingUpdate, maxUnavailable: 1 }
  containers:
  - name: sidecar1
    image: minchou/centos:6.7
  imagePullSecrets:
  - name: test-secret
    namespace: test-secret-namespace
`;

/** A server-side dry run, as its name and its labels are everybody's. */
function tryOut(text: string, ...flags: readonly string[]) {
  return whenAdmissionListens(async () => {
    const ran = await kubectl(["apply", "--dry-run=server", "-o", "json", ...flags, "-f", "-"], { input: text });
    if (ran.stderr.includes("failed calling webhook")) throw new Error(ran.stderr);
    return ran;
  });
}

test("the proposal's example is accepted by a strict client, and its namespace is dropped", async () => {
  const { code, stdout, stderr } = await tryOut(manifest, "--validate=strict");
  assert.equal(code, 0, stderr);
  const { metadata, spec } = JSON.parse(stdout) as SidecarSet;
  assert.equal(metadata.name, "test-sidecarset");
  assert.equal(metadata.namespace, undefined);
  assert.deepEqual(spec.imagePullSecrets, [{ name: "test-secret", namespace: "test-secret-namespace" }]);
});

test("a namespace in the object itself is dropped by the API server", async () => {
  const kube = await adminKube();
  const { metadata, ...rest } = sidecarSet(uniqueName("somewhere"));
  const body = { ...rest, metadata: { ...metadata, namespace: "scs-ns" } };
  const path = "/apis/apps.kruise.io/v1alpha1/sidecarsets?dryRun=All";
  const created = await whenAdmissionListens(() => kube.request("POST", path, { body }));
  assert.equal((created as SidecarSet).metadata.namespace, undefined);
});

const misspelt = [
  { field: "spec.imagePullSecrets[0].naamespace", text: manifest.replace("    namespace:", "    naamespace:") },
  { field: "spec.containers[0].transferEnv", text: ofContainer("transferEnv: []") },
  { field: "spec.containers[0].shareVolumePolicy", text: ofContainer("shareVolumePolicy: { type: enabled }") },
  { field: "spec.containers[0].imagePulPolicy", text: ofContainer("imagePulPolicy: Always") },
  { field: "spec.secretFields", text: `${manifest}  secretFields: []\n` },
  { field: "spec.revisionHistoryLimit", text: `${manifest}  revisionHistoryLimit: 3\n` },
  { field: "spec.patchPodMetadata", text: `${manifest}  patchPodMetadata: []\n` },
  { field: "spec.injectionStrategy.revision", text: `${manifest}  injectionStrategy: { revision: {} }\n` },
];

function ofContainer(line: string): string {
  return manifest.replace("centos:6.7\n", `centos:6.7\n    ${line}\n`);
}

for (const { field, text } of misspelt) {
  test(`${field} is unknown: refused by a strict client, else dropped with a warning`, async () => {
    const strict = await tryOut(text, "--validate=strict");
    assert.equal(strict.code, 1);
    assert.ok(strict.stderr.includes(`unknown field "${field}"`), strict.stderr);

    const lenient = await tryOut(text, "--validate=warn");
    assert.equal(lenient.code, 0, lenient.stderr);
    assert.ok(lenient.stderr.includes(`unknown field "${field}"`), lenient.stderr);
    const { spec } = JSON.parse(lenient.stdout) as SidecarSet;
    const [, word = ""] = /\.(\w+)$/.exec(field) ?? [];
    assert.doesNotMatch(JSON.stringify(spec), new RegExp(word));
  });
}

/** A kind of the same schema that nobody serves: what is in it stays as it is. */
async function unservedKind(t: TestContext): Promise<Resource> {
  const kube = await adminKube();
  const resource = { ...sidecarSets, group: `${uniqueName("g")}.example`, plural: "unservedsets", kind: "UnservedSet" };
  const { group, plural, kind } = resource;
  const name = crdNameOf(resource);
  t.after(() => removeQuietly(() => kube.delete(crds, { name })));
  const names = { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` };
  await installCrds(kube, [{ ...sidecarSetCrd, metadata: { name }, spec: { ...sidecarSetCrd.spec, group, names } }]);
  return resource;
}

test("kubectl get shows the columns in their order", async (t) => {
  const kube = await adminKube();
  const unserved = await unservedKind(t);
  const name = uniqueName("shown");
  const { spec } = sidecarSet(name);
  await kube.create<SidecarSet>(unserved, { metadata: { name }, spec });
  const condition = { lastTransitionTime: "2026-01-01T00:00:00Z", message: "", observedGeneration: 1 };
  const status = {
    ...{ observedGeneration: 1, specChangedAt: "2026-01-01T00:00:00Z" },
    ...{ matchedPods: 5, updatedPods: 4, readyPods: 3, updatedReadyPods: 2, pullSecrets: "0/1" },
    imagePullSecrets: [
      { namespace: "", name: "quay", copyName: "default-quay", state: "SourceMissing", copies: 0, suffixed: 0 },
    ],
    conditions: [
      { ...condition, type: "Accepted", status: "True", reason: "Valid" },
      { ...condition, type: "Ready", status: "False", reason: "SourceMissing" },
    ],
  };
  const written = await kube.patch<SidecarSet>(
    unserved,
    { name },
    { type: "merge", body: { status } },
    { subresource: "status" },
  );
  assert.deepEqual(written.status, status, "every field of the status is known");

  const table = async (...flags: string[]) => (await kubectl(["get", crdNameOf(unserved), ...flags])).stdout;
  assert.match(await table(), /^NAME +MATCHED +UPDATED +READY +PULLSECRETS +AGE\n\S+ +5 +4 +3 +0\/1 +\d+s\n$/);
  assert.match(
    await table("-o", "wide"),
    /^NAME .* AGE +ACCEPTED +REASON\n\S+ +5 +4 +3 +0\/1 +\d+s +True +SourceMissing\n$/,
  );
});

test("another state of a reference is refused", async (t) => {
  const kube = await adminKube();
  const unserved = await unservedKind(t);
  const name = uniqueName("stated");
  await kube.create<SidecarSet>(unserved, { metadata: { name }, spec: sidecarSet(name).spec });
  const reference = { namespace: "", name: "quay", copyName: "default-quay", state: "Fine", copies: 0, suffixed: 0 };
  const body = { status: { imagePullSecrets: [reference] } };
  await assert.rejects(
    kube.patch(unserved, { name }, { type: "merge", body }, { subresource: "status" }),
    (error) => error instanceof ApiError && error.status === 422,
  );
});

/** One of everything, as far as one container can have it. */
const full: Container = {
  name: "full",
  image: "registry.example.com/full:1",
  command: ["run"],
  args: ["--fast"],
  workingDir: "/work",
  ports: [{ name: "http", containerPort: 8080, protocol: "TCP" }],
  env: [{ name: "A", value: "1" }],
  envFrom: [{ secretRef: { name: "settings", optional: true } }],
  resources: { requests: { cpu: "100m" }, limits: { cpu: "abc" } },
  resizePolicy: [{ resourceName: "cpu", restartPolicy: "NotRequired" }],
  restartPolicy: "Never",
  restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [42] } }],
  volumeMounts: [{ name: "scratch", mountPath: "/scratch" }],
  volumeDevices: [{ name: "disk", devicePath: "/dev/xvda" }],
  livenessProbe: { exec: { command: ["true"] } },
  readinessProbe: { httpGet: { port: "http", path: "/" } },
  startupProbe: { tcpSocket: { port: 8080 } },
  lifecycle: { preStop: { sleep: { seconds: 5 } } },
  terminationMessagePath: "/dev/termination-log",
  terminationMessagePolicy: "File",
  imagePullPolicy: "IfNotPresent",
  securityContext: { runAsNonRoot: true, capabilities: { drop: ["ALL"] } },
  stdin: false,
  stdinOnce: false,
  tty: false,
  podInjectPolicy: "AfterAppContainer",
  upgradeStrategy: { upgradeType: "ColdUpgrade" },
};

test("containers and volumes are kept field by field, whatever is in them", async (t) => {
  const kube = await adminKube();
  const unserved = await unservedKind(t);
  const name = uniqueName("full");
  const initContainers = [{ ...full, name: "first" }];
  const volumes = [
    { name: "scratch", emptyDir: { sizeLimit: "1Gi" } },
    { name: "disk", persistentVolumeClaim: { claimName: "disk" } },
  ];
  const spec = { selector: { matchLabels: { app: name } }, containers: [full], initContainers, volumes };
  const created = await kube.create<SidecarSet>(unserved, { metadata: { name }, spec });
  assert.deepEqual(created.spec, spec);
});

test("every field that a container has in Kubernetes is known, and no other", async () => {
  const kube = await adminKube();
  const { components } = (await kube.request("GET", "/openapi/v3/api/v1")) as {
    components: { schemas: Record<string, { properties: object }> };
  };
  const core = Object.keys(components.schemas["io.k8s.api.core.v1.Container"]?.properties ?? {});
  assert.ok(core.length > 20);
  assert.deepEqual(Object.keys(full).sort(), [...core, "podInjectPolicy", "upgradeStrategy"].sort());
});

const explained = [
  ["sidecarset", /FIELDS:[\s\S]*spec[\s\S]*status/],
  ["sidecarset.spec", /containers[\s\S]*imagePullSecrets[\s\S]*selector.*-required-[\s\S]*volumes/],
  ["sidecarset.spec.imagePullSecrets", /name.*-required-[\s\S]*namespace/],
  ["sidecarset.spec.containers.upgradeStrategy.upgradeType", /ColdUpgrade/],
  ["sidecarset.spec.updateStrategy.partition", /100%/],
  ["sidecarset.status.imagePullSecrets.state", /DESCRIPTION:\n\s+\S/],
] as const;

test("kubectl explain tells what every field means", async () => {
  for (const [path, words] of explained) assert.match(await explain(path), words);
  for (const path of ["spec", "spec.containers", "status"]) {
    assert.doesNotMatch(await explain(`sidecarset.${path}`), /<no description>/);
  }
});

/** The API server publishes the schema of a new CRD some seconds after it serves it. */
async function explain(path: string): Promise<string> {
  for (const deadline = performance.now() + 60_000; ; await sleep(500)) {
    const { code, stdout, stderr } = await kubectl(["explain", path]);
    if (code === 0) return stdout;
    if (performance.now() > deadline) throw new Error(stderr);
  }
}
