import { type Secret, secrets } from "../api/objects.ts";
import type { Kube } from "../kube/client.ts";
import { at, encoded, type Meta, secret } from "./objects.ts";

type Values = Readonly<Record<string, string | Uint8Array>>;

export function createSecret(
  kube: Kube,
  key: string,
  values?: Values,
  options?: { readonly type?: string; readonly immutable?: boolean } & Meta,
): Promise<Secret> {
  return kube.create<Secret>(secrets, secret(key, values, options), { fieldManager: "somebody" });
}

export function getSecret(kube: Kube, key: string): Promise<Secret | undefined> {
  return kube.get<Secret>(secrets, at(key));
}

/** Whatever is there now; fails when it is not. */
export async function theSecret(kube: Kube, key: string): Promise<Secret> {
  const found = await getSecret(kube, key);
  if (!found) throw new Error(`Secret ${key} does not exist`);
  return found;
}

/** A merge patch, as somebody with kubectl would make it: `null` removes. */
export function patchSecret(kube: Kube, key: string, body: object): Promise<Secret> {
  return kube.patch<Secret>(secrets, at(key), { type: "merge", body }, { fieldManager: "somebody" });
}

/** Changes some values, leaving others alone. */
export function setValues(kube: Kube, key: string, values: Values): Promise<Secret> {
  return patchSecret(kube, key, { data: encoded(values) });
}

export function deleteSecret(kube: Kube, key: string): Promise<boolean> {
  return kube.delete(secrets, at(key));
}
