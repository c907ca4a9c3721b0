/** What the manifests of examples/tour create in the cluster that is shown; whoever cleans up deletes these. */
export const tourNamespaces = ["tour-vault", "tour-anna", "tour-bert", "tour-carla"] as const;
export const tourSyncs = ["tour-db-login", "tour-mail-login"] as const;
export const tourSidecarSet = "tour-log-shipper";
