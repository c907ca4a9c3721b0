import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Kube } from "../kube/client.ts";
import { adminKube, removeQuietly, uniqueName } from "./cluster.ts";
import { type SecretSync, type SyncOptions, secretSync, secretSyncs } from "./objects.ts";
import { untilSynced } from "./wait.ts";

/** Creates a SecretSync under a name of its own and deletes it after the test. */
export async function createSync(
  t: TestContext,
  kube: Kube,
  source: string,
  options: SyncOptions,
): Promise<SecretSync> {
  const name = options.name ?? uniqueName("sync");
  // By the admin: whoever creates it here may have lost his rights by then.
  const admin = await adminKube();
  t.after(() => removeQuietly(() => admin.delete(secretSyncs, { name })));
  return whenAdmissionListens(() => kube.create<SecretSync>(secretSyncs, secretSync(name, source, options)));
}

/** The same, and waits until it is in sync for the first time. */
export async function createdSync(
  t: TestContext,
  kube: Kube,
  source: string,
  options: SyncOptions,
): Promise<SecretSync> {
  return untilSynced(kube, await createSync(t, kube, source, options));
}

export function changeSync(
  kube: Kube,
  sync: SecretSync,
  change: { readonly spec?: object; readonly metadata?: object },
): Promise<SecretSync> {
  const ref = { name: sync.metadata.name };
  return whenAdmissionListens(() => kube.patch<SecretSync>(secretSyncs, ref, { type: "merge", body: change }));
}

/**
 * Another test may have moved the webhook (a restarted operator has another port), and the API server learns of it a
 * moment later: that is not what a test is about.
 */
export async function whenAdmissionListens<T>(write: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    try {
      return await write();
    } catch (error) {
      const isMoved = error instanceof Error && error.message.includes("failed calling webhook");
      if (!isMoved || performance.now() > deadline) throw error;
      await sleep(250);
    }
  }
}
