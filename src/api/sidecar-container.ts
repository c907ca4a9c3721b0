import type { Container, Volume } from "./pods.ts";
import { dnsLabel, listMap, rules, Type, words } from "./schema.ts";

export const podInjectPolicies = ["BeforeAppContainer", "AfterAppContainer"] as const;
export type PodInjectPolicy = (typeof podInjectPolicies)[number];

export interface SidecarContainer extends Container {
  readonly podInjectPolicy?: PodInjectPolicy;
  readonly upgradeStrategy?: { readonly upgradeType?: string };
}

/** Kept as it is: what is wrong in it is found by the API server, which is asked with a Pod. */
const carried = (description: string) =>
  Type.Optional(Type.Unsafe<unknown>({ description, "x-kubernetes-preserve-unknown-fields": true }));

/** Of Kubernetes 1.36. Named one by one, so that a misspelt field is noticed. */
const carriedFields = {
  args: carried("Arguments of the entrypoint."),
  command: carried("Entrypoint instead of the image's."),
  env: carried("Environment variables."),
  envFrom: carried("Sources of environment variables."),
  imagePullPolicy: carried("When the image is pulled."),
  lifecycle: carried("What to do after the start and before the end."),
  livenessProbe: carried("Tells when to restart the container."),
  ports: carried("Ports that the container opens."),
  readinessProbe: carried("Tells when the container is ready."),
  resizePolicy: carried("How changed resources are applied."),
  resources: carried("Requests and limits."),
  restartPolicyRules: carried("When to restart, by exit code."),
  securityContext: carried("Security options."),
  startupProbe: carried("Tells when the container has started."),
  stdin: carried("Whether stdin is allocated."),
  stdinOnce: carried("Whether stdin closes after the first attach."),
  terminationMessagePath: carried("File with the container's last words."),
  terminationMessagePolicy: carried("Where the container's last words come from."),
  tty: carried("Whether a terminal is allocated."),
  volumeDevices: carried("Block devices of the container."),
  volumeMounts: carried("Volumes mounted into the container: of this SidecarSet, or left to the Pod."),
  workingDir: carried("Working directory instead of the image's."),
};

const upgradeStrategy = Type.Object(
  {
    upgradeType: Type.String({
      description: "How the container is upgraded: only ColdUpgrade.",
      default: "ColdUpgrade",
      maxLength: 32,
      ...rules({ rule: "self == 'ColdUpgrade'", message: "must be ColdUpgrade: HotUpgrade is not supported" }),
    }),
  },
  { description: "How the container is upgraded." },
);

const container = (policy: PodInjectPolicy, description: string) =>
  Type.Object(
    {
      name: dnsLabel("Name of the container, in every Pod it is put into."),
      image: Type.String({ description: "Image of the container.", minLength: 1 }),
      restartPolicy: Type.Optional(
        Type.String({ description: "Always makes an initContainer a native sidecar.", maxLength: 32 }),
      ),
      ...carriedFields,
      podInjectPolicy: words(podInjectPolicies, {
        description: "Whether it stands before or after the Pod's own.",
        default: policy,
      }),
      upgradeStrategy: Type.Optional(upgradeStrategy),
    },
    { description },
  );

export const sidecarContainers = (policy: PodInjectPolicy, description: string) =>
  Type.Unsafe<readonly SidecarContainer[]>(
    Type.Array(container(policy, "A core Container, and how it is put into Pods."), {
      description,
      maxItems: 32,
      ...listMap("name"),
    }),
  );

export const sidecarVolumes = Type.Unsafe<readonly Volume[]>(
  Type.Array(
    Type.Object(
      { name: dnsLabel("Name of the volume.") },
      { description: "A core Volume.", "x-kubernetes-preserve-unknown-fields": true },
    ),
    {
      description: "Volumes for the containers: a Pod gets those that a container put into it mounts.",
      maxItems: 64,
      ...listMap("name"),
    },
  ),
);
