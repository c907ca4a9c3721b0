import { secretSyncs } from "../../src/api/kinds.ts";
import { type NamespacedRef, type Secret, secrets } from "../../src/api/objects.ts";
import type { SecretSync } from "../../src/api/secret-sync.ts";
import type { Kube } from "../../src/kube/client.ts";
import { inParallel } from "./parallel.ts";

/** A value of 1 KiB as it stands in a Secret, told apart by its mark. */
export const encodedMark = (mark: string): string => Buffer.from(mark.padEnd(1024, ".")).toString("base64");

export async function createSource(kube: Kube, ref: NamespacedRef, mark: string): Promise<void> {
  await kube.create<Secret>(secrets, { metadata: { ...ref }, data: { value: encodedMark(mark) } });
}

export async function changeSource(kube: Kube, ref: NamespacedRef, mark: string): Promise<void> {
  await kube.patch(secrets, ref, { type: "merge", body: { data: { value: encodedMark(mark) } } });
}

/** As few SecretSyncs as copy one source to all these places. */
export async function createSyncs(
  kube: Kube,
  name: string,
  src: NamespacedRef,
  places: readonly NamespacedRef[],
): Promise<number> {
  const count = Math.ceil(places.length / 32);
  const shares = Array.from({ length: count }, (_, at) => places.filter((_place, index) => index % count === at));
  await inParallel(shares, 8, (dest, at) =>
    kube.create<SecretSync>(secretSyncs, {
      metadata: { name: `${name}-${at}` },
      spec: { paused: false, strategy: { watch: {} }, src, dest: dest.map((place) => ({ ...place })) },
    }),
  );
  return count;
}
