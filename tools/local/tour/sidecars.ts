import type { Guide } from "./guide.ts";
import { tourSidecarSet } from "./names.ts";

const podColumns = "custom-columns=CONTAINERS:.spec.containers[*].name,PULLSECRETS:.spec.imagePullSecrets[*].name";

/** Pull secrets that follow a container into Pods of other namespaces. */
export async function showSidecars({ tell, show, until }: Guide): Promise<void> {
  tell(
    "6. A SidecarSet puts a container into Pods of another namespace. Its image needs a pull secret, which is kept in one",
    "   place: tour-vault.",
  );
  await show("apply", "-f", "examples/tour/4-sidecarset.yaml");
  await until("--for=condition=Accepted", `sidecarset/${tourSidecarSet}`);

  tell("   Carla deploys her shop. Its Pod has the container, names the pull secret, and the copy is there already.");
  await show("apply", "-f", "examples/tour/5-deployment.yaml");
  await until("--for=jsonpath={.status.replicas}=1", "deployment/shop", "-n", "tour-carla");
  await show("get", "pods", "-n", "tour-carla", "-o", podColumns);
  await show("get", "secret", "tour-vault-registry-login", "-n", "tour-carla");
  await until("--for=jsonpath={.status.matchedPods}=1", `sidecarset/${tourSidecarSet}`);
  await show("get", "sidecarset", tourSidecarSet);

  tell("   The credential is revoked: its one Secret is deleted, and 3 seconds later no namespace has a copy.");
  await show("delete", "secret", "registry-login", "-n", "tour-vault");
  await until("--for=delete", "secret/tour-vault-registry-login", "-n", "tour-carla");
  await until("--for=jsonpath={.status.imagePullSecrets[0].state}=SourceMissing", `sidecarset/${tourSidecarSet}`);
  await show("get", "secrets", "-n", "tour-carla");
  await show("get", "sidecarset", tourSidecarSet, "-o", "wide");
}
