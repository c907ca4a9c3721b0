import { join } from "node:path";
import { type KubectlOptions, type Ran, runKubectl } from "./kubectl.ts";

const root = join(import.meta.dirname, "..", "..");

/** What the manifests of examples/tour create; whoever cleans up deletes these. */
export const tourNamespaces = ["tour-vault", "tour-anna", "tour-bert", "tour-carla"] as const;
export const tourSyncs = ["tour-db-login", "tour-mail-login"] as const;
export const tourSidecarSet = "tour-log-shipper";

export interface TourOptions {
  readonly kubectl: Omit<KubectlOptions, "cwd">;
  readonly write: (text: string) => void;
  /** Whether SidecarSets are Latchkey's here and the API server can ask it about Pods. */
  readonly hasSidecars: boolean;
}

const base64 = (text: string) => Buffer.from(text).toString("base64");
const passwordOf = 'go-template={{.data.password | base64decode}}{{"\\n"}}';

/** Applies examples/tour step by step and shows what really comes of it. Throws when a step does not come out as told. */
export async function takeTour({ kubectl, write, hasSidecars }: TourOptions): Promise<void> {
  const guide = guideFor({ kubectl, write });
  await showCopies(guide);
  if (hasSidecars) await showSidecars(guide);
}

interface Guide {
  tell(...lines: readonly string[]): void;
  show(...args: readonly string[]): Promise<void>;
  /** What people would do by looking again. */
  until(...args: readonly string[]): Promise<void>;
}

function guideFor({ kubectl, write }: Pick<TourOptions, "kubectl" | "write">): Guide {
  const run = (args: readonly string[]) => runKubectl(args, { ...kubectl, cwd: root });
  return {
    tell: (...lines) => write(`\n${lines.join("\n")}\n\n`),
    async show(...args) {
      write(`  $ kubectl ${args.map(quoted).join(" ")}\n`);
      const ran = await run(args);
      write(indented(`${ran.stdout}${ran.stderr}`));
      demand(ran, args);
    },
    until: async (...args) => demand(await run(["wait", ...args, "--timeout=120s"]), args),
  };
}

async function showCopies({ tell, show, until }: Guide): Promise<void> {
  tell("1. A Secret is in one namespace and is needed in three others.");
  await show("apply", "-f", "examples/tour/1-source.yaml");

  tell("2. A SecretSync asks for the three copies. They arrive.");
  await show("apply", "-f", "examples/tour/2-secretsync.yaml");
  await until("--for=condition=Sync", "secretsync/tour-db-login");
  await show("get", "secretsync", "tour-db-login");
  await show("get", "secrets", "-A", "--field-selector=metadata.name=db-login");

  tell("3. Somebody edits a copy by hand. It is restored at once.");
  const edit = JSON.stringify({ stringData: { password: "edited by hand" } });
  await show("patch", "secret", "db-login", "-n", "tour-anna", "--type=merge", "-p", edit);
  await until(`--for=jsonpath={.data.password}=${base64("correct horse")}`, "secret/db-login", "-n", "tour-anna");
  await show("get", "secret", "db-login", "-n", "tour-anna", "-o", passwordOf);

  tell(
    "4. Another SecretSync wants a place where a Secret of Anna's is already. What is not Latchkey's is never touched:",
    "   the place is reported, and the other copy is made all the same.",
  );
  await show("apply", "-f", "examples/tour/3-collision.yaml");
  await until("--for=jsonpath={.status.conditions[0].reason}=Conflict", "secretsync/tour-mail-login");
  await show("get", "secretsync", "tour-mail-login", "-o", "wide");
  await show("get", "secretsync", "tour-mail-login", "-o", 'jsonpath={.status.conditions[0].message}{"\\n"}');
  await show("get", "secret", "mail-login", "-n", "tour-anna", "-o", passwordOf);

  tell("   Anna deletes hers: the copy takes the place, and nobody has to ask again.");
  await show("delete", "secret", "mail-login", "-n", "tour-anna");
  await until("--for=condition=Sync", "secretsync/tour-mail-login");
  await show("get", "secretsync", "tour-mail-login", "-o", "wide");
  await show("get", "secret", "mail-login", "-n", "tour-anna", "-o", passwordOf);

  tell("5. The first SecretSync is deleted. Its copies go with it, the source stays.");
  await show("delete", "secretsync", "tour-db-login");
  await show("get", "secrets", "-A", "--field-selector=metadata.name=db-login");
}

const podColumns = "custom-columns=CONTAINERS:.spec.containers[*].name,PULLSECRETS:.spec.imagePullSecrets[*].name";

async function showSidecars({ tell, show, until }: Guide): Promise<void> {
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

function demand({ code, stderr }: Ran, args: readonly string[]): void {
  if (code !== 0) throw new Error(`kubectl ${args.join(" ")} failed (exit code ${code}): ${stderr.trim()}`);
}

/** As it can be pasted into a shell. */
function quoted(arg: string): string {
  return /^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg}'`;
}

function indented(text: string): string {
  return text.trimEnd().replaceAll(/^/gm, "  ").concat("\n");
}
