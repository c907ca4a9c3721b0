import { createHmac, createSecretKey, randomBytes } from "node:crypto";
import { managedByLabel, managedByValue } from "../api/marks.ts";
import { type Secret, secrets } from "../api/objects.ts";
import type { Call, Kube } from "../kube/client.ts";
import { isReason } from "../kube/errors.ts";
import { withoutQuotes } from "./redact.ts";

/** Tells contents apart without telling them. Keyed: from a plain digest a short password could be guessed. */
export type Fingerprint = (type: string, data: Readonly<Record<string, string>>) => string;

export const fingerprintKeySecret = "latchkey-fingerprint-key";

export function fingerprintWith(bytes: Buffer): Fingerprint {
  // A Buffer would be made a key anew each time, which takes longer than all the rest.
  const key = createSecretKey(bytes);
  return (type, data) => {
    const hmac = createHmac("sha256", key).update(JSON.stringify(type));
    for (const name of Object.keys(data).sort()) hmac.update(JSON.stringify([name, data[name]]));
    return hmac.digest("base64url");
  };
}

/** The installation's key: created once, the same for every replica and after every restart. */
export async function openFingerprint(kube: Kube, namespace: string, call: Call): Promise<Fingerprint> {
  const ref = { namespace, name: fingerprintKeySecret };
  const found = await kube.get<Secret>(secrets, ref, call);
  if (found?.data?.key) return fingerprintWith(Buffer.from(found.data.key, "base64"));

  const key = randomBytes(32);
  const data = { key: key.toString("base64") };
  const labels = { "app.kubernetes.io/name": "latchkey", [managedByLabel]: managedByValue };
  try {
    await withoutQuotes(kube, ref, data, call, () =>
      kube.create<Secret>(secrets, { metadata: { ...ref, labels }, type: "Opaque", data }, call),
    );
  } catch (error) {
    if (!isReason(error, "AlreadyExists")) throw error;
    const first = await kube.get<Secret>(secrets, ref, call);
    if (!first?.data?.key) throw new Error(`Secret ${namespace}/${fingerprintKeySecret} has no key: delete it`);
    return fingerprintWith(Buffer.from(first.data.key, "base64"));
  }
  return fingerprintWith(key);
}
