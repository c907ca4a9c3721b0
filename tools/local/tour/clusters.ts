import type { Guide } from "./guide.ts";

/** What is shown to be stopped and started again. */
export interface Restartable {
  stop(): Promise<void>;
  start(): Promise<void>;
}

const cluster = ["clusters.kubermatic.k8c.io", "tour-user"] as const;
const copy = "tour-vault-docker-hub";
const there = ["--kubeconfig", "$USER_CLUSTER"];
const image = "--image=docker.io/example/web:1";
const podColumns = "custom-columns=POD:.metadata.name,PULLSECRETS:.spec.imagePullSecrets[*].name";

/** Pull secrets in every namespace of another cluster, and in its Pods. */
export async function showClusters(guide: Guide, latchkey: Restartable): Promise<void> {
  await joinCluster(guide);
  await createPod(guide);
  await goWithout(guide, latchkey);
  guide.tell("   How all of it stands, as Latchkey tells it:");
  await guide.showLatchkey("status", "--kubeconfig", "$KUBECONFIG");
}

async function joinCluster({ tell, show, until }: Guide): Promise<void> {
  tell(
    "7. There is another cluster; $USER_CLUSTER is the path of its kubeconfig. Latchkey gets a kubeconfig with these rights and",
    "   no others, in a Secret of the cluster that it runs in.",
  );
  await show(...there, "apply", "--server-side", "-f", "deploy/user-cluster-role.yaml");
  const kubeconfig = "--from-file=kubeconfig=$LIMITED_KUBECONFIG";
  await show("create", "secret", "generic", "tour-user-kubeconfig", "-n", "tour-vault", kubeconfig);

  tell(
    "   A Cluster names that Secret and the credential. Every namespace over there gets its copy, kube-system included.",
  );
  await show("apply", "-f", "examples/tour/6-cluster.yaml");
  await until("--for=condition=Ready", ...cluster);
  await show("get", ...cluster);
  await show(...there, "get", "secrets", "-A", `--field-selector=metadata.name=${copy}`);
}

/** The API server goes by a new policy within a second. */
const untilGiven = ({ untilAnswer }: Guide): Promise<void> => {
  const trial = ["run", "trial", image, "--dry-run=server", "-o", "jsonpath={.spec.imagePullSecrets[*].name}"];
  return untilAnswer(copy, ...there, ...trial);
};

async function createPod(guide: Guide): Promise<void> {
  const { tell, show } = guide;
  tell("   Somebody over there, who knows nothing of all that, creates a Pod. It names the pull secret.");
  await untilGiven(guide);
  await show(...there, "run", "web", image);
  await show(...there, "get", "pod", "web", "-o", podColumns);
}

async function goWithout({ tell, show, until }: Guide, latchkey: Restartable): Promise<void> {
  tell(
    "   Latchkey is stopped: nobody holds its Lease. Pods are given their pull secrets all the same, by a policy that is in",
    "   the other cluster, also in a namespace that is new.",
  );
  await latchkey.stop();
  await show("get", "lease", "latchkey", "-n", "latchkey-system");
  await show(...there, "create", "namespace", "late");
  await until(...there, "--for=create", "serviceaccount/default", "-n", "late");
  await show(...there, "run", "web", image, "-n", "late");
  await show(...there, "get", "pod", "web", "-n", "late", "-o", podColumns);

  tell("   Latchkey is started again, and the namespace that came meanwhile gets its copy.");
  await latchkey.start();
  await until(...there, "--for=create", `secret/${copy}`, "-n", "late");
  await until("--for=jsonpath={.status.namespaces.summary}=5/5", ...cluster);
  await show(...there, "get", "secret", copy, "-n", "late");
  await show("get", ...cluster);
}
