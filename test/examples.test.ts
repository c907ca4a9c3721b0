import assert from "node:assert/strict";
import { test } from "node:test";
import { secrets } from "../src/api/objects.ts";
import { adminKube, kubectl, removeQuietly } from "../src/testing/cluster.ts";
import { at, secretSyncs } from "../src/testing/objects.ts";
import { createSecret } from "../src/testing/secrets.ts";
import { whenAdmissionListens } from "../src/testing/syncs.ts";
import { untilGone, untilSecret } from "../src/testing/wait.ts";

// The manifests name these for everybody: this file is the only one that uses them, one example after the other.
const source = "kube-system/bootstrap-token-abcdef";
const copy = "default/synced-bootstrap-token";
const sync = { name: "bootstrap-token" };
const token = { "token-id": "abcdef", "token-secret": "0123456789abcdef" };

for (const strategy of ["watch", "poll"]) {
  test(`examples/secretsync/${strategy}.yaml works as it is`, async (t) => {
    const kube = await adminKube();
    t.after(() => removeQuietly(() => kube.delete(secrets, at(source))));
    t.after(async () => {
      await removeQuietly(() => kube.delete(secretSyncs, sync));
      await untilGone(kube, secretSyncs, sync);
    });
    await createSecret(kube, source, token, { type: "bootstrap.kubernetes.io/token" });
    await apply(`examples/secretsync/${strategy}.yaml`);

    const waited = await kubectl(["wait", "--for=condition=Sync", "secretsync/bootstrap-token", "--timeout=120s"]);
    assert.equal(waited.code, 0, waited.stderr);
    await untilSecret(kube, copy, token, { type: "bootstrap.kubernetes.io/token" });
    const { stdout } = await kubectl(["get", "secretsync", "bootstrap-token", "-o", "wide"]);
    assert.match(stdout, new RegExp(`bootstrap-token +${source} +True +1/1 +Synced +\\S+ +Synced +${strategy}`));
    assert.match(await apply(`examples/secretsync/${strategy}.yaml`), /unchanged/);

    await kube.delete(secretSyncs, sync);
    await untilGone(kube, secrets, at(copy));
  });
}

for (const manifest of ["deploy/rbac.yaml", "deploy/latchkey.yaml", "deploy/crds"]) {
  test(`${manifest} is accepted by the API server, field for field`, async () => {
    const dryRun = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict"];
    const { code, stderr } = await kubectl([...dryRun, "-f", manifest]);
    assert.equal(code, 0, stderr);
    assert.equal(stderr, "", "no warnings either");
  });
}

function apply(manifest: string): Promise<string> {
  return whenAdmissionListens(async () => {
    const { code, stdout, stderr } = await kubectl(["apply", "-f", manifest]);
    if (code !== 0) throw new Error(stderr);
    return stdout;
  });
}
