import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sidecarSets } from "../../src/api/kinds.ts";
import { type NamespacedRef, type Resource, type Secret, secrets } from "../../src/api/objects.ts";
import type { Pod } from "../../src/api/pods.ts";
import type { SidecarSet } from "../../src/api/sidecar-set.ts";
import type { Kube } from "../../src/kube/client.ts";
import { ApiError } from "../../src/kube/errors.ts";
import type { Operator } from "../../tools/local/operator.ts";
import type { Arena } from "./arena.ts";
import { inParallel } from "./parallel.ts";
import { containersOf, pullSecretsOf } from "./pods.ts";
import { tellProgress } from "./report.ts";

/** The key of a pull secret's data. */
export const configKey = ".dockerconfigjson";
export const configType = "kubernetes.io/dockerconfigjson";
/** On copies that the installation shares, and on nothing else. */
export const copyLabel = "latchkey.dev/source-hash";

/** The content of a pull secret of about 1 KiB, told apart by its mark. */
export function pullSecretData(mark: string): { readonly [configKey]: string } {
  const text = JSON.stringify({ auths: { "registry.example.com": { auth: mark.padEnd(970, ".") } } });
  return { [configKey]: Buffer.from(text).toString("base64") };
}

/** How many pull secrets there are at most; beyond that SidecarSets share them. */
export const sourceCount = 20;
export const sourceOf = (at: number): NamespacedRef => ({ namespace: "default", name: `login-${at}` });
export const copyNameOf = (at: number): string => `default-login-${at}`;
const setNameOf = (at: number): string => `bench-${at}`;

export async function createPullSecret(kube: Kube, at: number, mark: string): Promise<void> {
  await kube.create<Secret>(secrets, { metadata: { ...sourceOf(at) }, type: configType, data: pullSecretData(mark) });
}

export async function changePullSecret(kube: Kube, at: number, mark: string): Promise<void> {
  await kube.patch(secrets, sourceOf(at), { type: "merge", body: { data: pullSecretData(mark) } });
}

/** One SidecarSet for each number, with a container of its own and a pull secret; resolves when Pods get them. */
export async function createSets(kube: Kube, numbers: readonly number[], app = "bench"): Promise<void> {
  await inParallel(numbers, 4, (at) => createSet(kube, at, app));
  for (;;) {
    const all = await kube.list<SidecarSet>(sidecarSets);
    const accepted = all
      .filter(({ status }) => status?.conditions?.some(isAccepted))
      .map(({ metadata }) => metadata.name);
    if (numbers.every((at) => accepted.includes(setNameOf(at)))) return;
    await sleep(100);
  }
}

/** A webhook that fails closed is unreachable for a moment after the operator has moved. */
async function createSet(kube: Kube, at: number, app: string): Promise<void> {
  const draft = {
    metadata: { name: setNameOf(at) },
    spec: {
      selector: { matchLabels: { app } },
      containers: [{ name: `sidecar-${at}`, image: `registry.example.com/sidecar-${at}:1` }],
      imagePullSecrets: [sourceOf(at % sourceCount)],
    },
  };
  for (let attempt = 1; ; attempt++) {
    try {
      await kube.create<SidecarSet>(sidecarSets, draft);
      return;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status < 500 || attempt === 20) throw error;
      await sleep(500);
    }
  }
}

const isAccepted = ({ type, status }: { readonly type: string; readonly status: string }) =>
  type === "Accepted" && status === "True";

export async function deleteSets(kube: Kube, numbers: readonly number[]): Promise<void> {
  await inParallel(numbers, 8, (at) => kube.delete(sidecarSets, { name: setNameOf(at) }));
}

/** Throws unless the Pod has exactly these sidecars and names their copies: then the run is void. */
export function checkPod(pod: Pod, numbers: readonly number[]): void {
  if (hasExactly(pod, numbers)) return;
  throw new Error(`void: Pod ${pod.metadata.name} has ${containersOf(pod)} and names ${pullSecretsOf(pod)}`);
}

export function hasExactly(pod: Pod, numbers: readonly number[]): boolean {
  const sidecars = containersOf(pod).filter((name) => name !== "app");
  const isSame = (found: readonly string[], wanted: readonly string[]) =>
    found.toSorted().join() === wanted.toSorted().join();
  return (
    isSame(
      sidecars,
      numbers.map((at) => `sidecar-${at}`),
    ) && isSame(pullSecretsOf(pod), numbers.map(copyNameOf))
  );
}

/** Throws unless there is one copy of the first source in each of these namespaces, right, and none elsewhere. */
export async function checkCopies(kube: Kube, namespaces: readonly string[], mark: string): Promise<void> {
  const copies = await kube.list<Secret>(secrets, { labelSelector: copyLabel });
  const wanted = pullSecretData(mark)[configKey];
  const right = copies.filter(({ metadata, data }) => metadata.name === copyNameOf(0) && data?.[configKey] === wanted);
  const places = new Set(right.map(({ metadata }) => metadata.namespace));
  if (copies.length === namespaces.length && namespaces.every((name) => places.has(name))) return;
  throw new Error(`void: ${copies.length} copies in ${namespaces.length} namespaces, right ones in ${places.size}`);
}

const configurationsOf = (kind: "Mutating" | "Validating"): Resource => ({
  group: "admissionregistration.k8s.io",
  version: "v1",
  plural: `${kind.toLowerCase()}webhookconfigurations`,
  kind: `${kind}WebhookConfiguration`,
  namespaced: false,
});
export const mutating = configurationsOf("Mutating");
export const sidecarsConfiguration = { name: "latchkey-sidecars" };

/** Runs a task as if Latchkey had never been there, as far as Pods are concerned. */
export async function withoutLatchkey<T>({ kube }: Arena, task: () => Promise<T>): Promise<T> {
  await kube.delete(mutating, sidecarsConfiguration);
  // The API server has to notice; nobody tells when it has.
  await sleep(2000);
  return task();
}

export async function withLatchkey<T>(arena: Arena, task: (operator: Operator) => Promise<T>): Promise<T> {
  await using operator = await arena.startOperator();
  try {
    const result = await task(operator);
    if (operator.ending) throw new Error("void: the operator ended");
    return result;
  } catch (error) {
    tellUnanswered(arena);
    throw error;
  }
}

/** Pods without their sidecars are mostly reviews that were not answered in time: the machine is too busy to measure on. */
function tellUnanswered({ plane }: Arena): void {
  const log = readFileSync(join(plane.dir, "logs", "kube-apiserver.log"), "utf8").split("\n");
  const failures = log.filter((line) => line.includes("Failed calling webhook"));
  if (failures.length > 0) tellProgress(`${failures.length} reviews were not answered, the last: ${failures.at(-1)}`);
}
