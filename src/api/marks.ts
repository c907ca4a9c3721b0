/** Labels, annotations, finalizers and field managers: the words Latchkey writes on objects. */

export const managedByLabel = "app.kubernetes.io/managed-by";
export const managedByValue = "latchkey";
/** UID of the owner: a SecretSync, or the installation itself. */
export const ownerUidLabel = "latchkey.dev/owner-uid";
/** On a Secret that is copied by watch: this is how it is followed. */
export const sourceLabel = "latchkey.dev/source";
/** On a copy that the whole installation shares: hash of the source's `namespace/name`. */
export const sourceHashLabel = "latchkey.dev/source-hash";
/** On a Pod that Latchkey put something into: by it those Pods are watched. */
export const injectedLabel = "latchkey.dev/injected";
/** `"false"` on a Namespace: nothing is put into its Pods. */
export const injectLabel = "latchkey.dev/inject";
/** On a CRD that Latchkey installed in place of the original project's. */
export const standInLabel = "latchkey.dev/stand-in";

/** `SecretSync/<name>`: who asked for this copy. */
export const ownerAnnotation = "latchkey.dev/owner";
/** `<namespace>/<name>` of the source. */
export const sourceAnnotation = "latchkey.dev/source";
/** `<namespace>/<name>` of the copy itself: marks pasted onto another Secret give themselves away. */
export const selfAnnotation = "latchkey.dev/self";
/** Keyed fingerprint of what was copied. */
export const fingerprintAnnotation = "latchkey.dev/fingerprint";

/** `"true"` on a source: its owner's last word against copies that an installation shares. */
export const vetoAnnotation = "latchkey.dev/no-copy";
/** On a Pod: comma list of `<namespace>/<name>=<copy name>`. */
export const pullSecretsAnnotation = "latchkey.dev/pull-secrets";
/** On an original project's object: the references that its schema has no field for. */
export const referencesAnnotation = "latchkey.dev/image-pull-secrets";
/** On an original project's Cluster, for what its schema has no fields: `disabled`, `<namespace>[/<name>]`, a comma list, a word each. */
export const defaultReferencesAnnotation = "latchkey.dev/default-image-pull-secrets";
export const kubeconfigAnnotation = "latchkey.dev/kubeconfig-secret";
export const excludedNamespacesAnnotation = "latchkey.dev/excluded-namespaces";
export const injectionModeAnnotation = "latchkey.dev/injection-mode";
export const onSourceDeletedAnnotation = "latchkey.dev/on-source-deleted";
/** On a ServiceAccount: comma list of the pull secrets that we put into its list. */
export const addedPullSecretsAnnotation = "latchkey.dev/added-pull-secrets";
/** On an original project's object: what Latchkey has to say about it, as JSON. */
export const statusAnnotation = "latchkey.dev/status";

export const copiesFinalizer = "latchkey.dev/copies";
export const sourceLabelFinalizer = "latchkey.dev/source-label";
export const clustersFinalizer = "latchkey.dev/clusters";

/** Field manager of everything Latchkey writes, unless a rule names another. */
export const fieldManager = "latchkey";
/** One per asker, so that the API server counts the references to a source. */
export const sourceManagerOf = (askerUid: string): string => `latchkey-source-${askerUid}`;
/** One for the whole installation: its copies are shared, so the references to a source are counted by us. */
export const pullSecretsManager = "latchkey-pull-secrets";
