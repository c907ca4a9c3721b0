import { isDnsLabel, isDnsSubdomain } from "../api/dns-names.ts";
import {
  managedByLabel,
  managedByValue,
  ownerAnnotation,
  ownerUidLabel,
  selfAnnotation,
  sourceAnnotation,
  sourceHashLabel,
} from "../api/marks.ts";
import { controllerOf, type KubeObject, keyOf, type OwnerReference, refOfKey } from "../api/objects.ts";
import { hashOfKey } from "./source-hash.ts";

/** Who asked for an object. An owner that is no object (the installation) has no reference to put on it. */
export interface Owner {
  readonly uid: string;
  /** What the owner annotation says, e.g. `SecretSync/bootstrap-token`. */
  readonly title: string;
  readonly reference?: OwnerReference;
  /** Its copies say which source they are of by a hash too, and are never re-pointed to another one. */
  readonly isInstallation?: true;
}

/** How far an owner may go when something else holds the place. */
export interface Claim {
  readonly owner: Owner;
  readonly onCollision: "refuse" | "adopt-uncontrolled" | "adopt";
}

/** The situation of an existing object, seen by one owner. */
export type Held =
  | { readonly kind: "ours" }
  /** Ours by reference or by marks, but not by both: to be mended, never to be deleted. */
  | { readonly kind: "damaged" }
  | { readonly kind: "another's"; readonly uid: string; readonly holder: string; readonly isControlled: boolean }
  | { readonly kind: "foreign"; readonly holder: string; readonly isControlled: boolean }
  | { readonly kind: "terminating"; readonly holder: string };

export const unmanaged = "an unmanaged Secret";

export function holderOf(object: KubeObject, owner: Owner): Held {
  if (object.metadata.deletionTimestamp) return { kind: "terminating", holder: describeHolder(object) };
  if (isPasted(object)) return foreign(object);

  const controller = controllerOf(object);
  if (owner.reference && controller?.uid === owner.uid) {
    return { kind: isMarkedBy(object, owner) ? "ours" : "damaged" };
  }
  if (isMarkedBy(object, owner)) {
    if (!owner.reference) return { kind: "ours" };
    return controller ? foreign(object) : { kind: "damaged" };
  }

  const uid = markedOwnerOf(object) ?? (isOfOneKind(controller, owner.reference) ? controller.uid : undefined);
  if (!uid || uid === owner.uid) return foreign(object);
  const holder = describeHolder(object);
  const isNamesake = holder === owner.title;
  return {
    kind: "another's",
    uid,
    holder: isNamesake ? `an earlier ${holder}` : holder,
    isControlled: controller !== undefined,
  };
}

/** A copy that lost its marks still belongs to the other SecretSync that controls it. */
function isOfOneKind(a: OwnerReference | undefined, b: OwnerReference | undefined): a is OwnerReference {
  return a !== undefined && a.kind === b?.kind && a.apiVersion.split("/")[0] === b.apiVersion.split("/")[0];
}

/** Label, annotations and, where there is one, the reference agree. */
export function isProvenOurs(object: KubeObject, owner: Owner): boolean {
  return (
    !isPasted(object) && isMarkedBy(object, owner) && (!owner.reference || controllerOf(object)?.uid === owner.uid)
  );
}

/** All marks name this owner, whatever the reference says. */
export function isMarkedBy(object: KubeObject, owner: Owner): boolean {
  const { labels = {}, annotations = {} } = object.metadata;
  return (
    labels[managedByLabel] === managedByValue &&
    labels[ownerUidLabel] === owner.uid &&
    annotations[ownerAnnotation] === owner.title &&
    annotations[selfAnnotation] === keyOf(object.metadata) &&
    annotations[sourceAnnotation] !== undefined &&
    (!owner.isInstallation || labels[sourceHashLabel] === hashOfKey(annotations[sourceAnnotation]))
  );
}

/** A copy that all askers of an installation share, to all appearances. Other owners never adopt it. */
export const isShared = ({ metadata }: KubeObject): boolean => metadata.labels?.[sourceHashLabel] !== undefined;

/** The marks were copied from another Secret together with the rest of its YAML. */
export function isPasted(object: KubeObject): boolean {
  const self = object.metadata.annotations?.[selfAnnotation];
  return self !== undefined && self !== keyOf(object.metadata);
}

/** Which source the marks of a copy name. Anyone can write an annotation: only what looks like one of ours is repeated. */
export function describeSource({ metadata }: KubeObject): string {
  const source = metadata.annotations?.[sourceAnnotation] ?? "";
  const { namespace = "", name } = refOfKey(source);
  return isDnsLabel(namespace) && isDnsSubdomain(name) ? source : "another Secret";
}

function markedOwnerOf(object: KubeObject): string | undefined {
  const { labels = {}, annotations = {} } = object.metadata;
  if (labels[managedByLabel] !== managedByValue || !annotations[ownerAnnotation]) return undefined;
  return labels[ownerUidLabel];
}

const isTitle = (text: string): boolean => text.length <= 320 && /^[A-Za-z]+(\/[a-z0-9.-]+)?$/.test(text);

const foreign = (object: KubeObject): Held => ({
  kind: "foreign",
  holder: describeHolder(object),
  isControlled: controllerOf(object) !== undefined,
});

function describeHolder(object: KubeObject): string {
  if (isPasted(object)) return "a Secret with the marks of another one";
  const controller = controllerOf(object);
  if (controller) return `${controller.kind}/${controller.name}`;
  const title = object.metadata.annotations?.[ownerAnnotation];
  // Anyone can write an annotation: only what looks like one of ours is repeated.
  return title && isTitle(title) && markedOwnerOf(object) ? title : unmanaged;
}
