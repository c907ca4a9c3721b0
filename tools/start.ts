import { join } from "node:path";
import { parseArgs } from "node:util";
import { describeEnding, lastLines } from "./local/child.ts";
import { runKubectl } from "./local/kubectl.ts";
import { openGivenPlace, openLocalPlace, type Place, removeTour, variablesOf } from "./local/place.ts";
import { showProgress } from "./local/progress.ts";
import { interruption } from "./local/signals.ts";
import { quoted } from "./local/tour/guide.ts";
import { Latchkey } from "./local/tour/latchkey.ts";
import { takeTour } from "./local/tour/tour.ts";

const root = join(import.meta.dirname, "..");

const usage = `npm start -- [--kubeconfig <path>] [--once]

  Starts two local control planes and Latchkey in one of them, shows what it does, and keeps all running until Ctrl-C.

  --kubeconfig <path>   use this cluster instead; what the tour made there is removed again at the end
  --once                end after the tour
`;

interface Wish {
  readonly kubeconfig: string | undefined;
  readonly isOnce: boolean;
  readonly wantsHelp: boolean;
}

async function main(args: readonly string[]): Promise<number> {
  const wish = parseWish(args);
  if (typeof wish === "string") {
    process.stderr.write(`${wish}\n\n${usage}`);
    return 2;
  }
  if (wish.wantsHelp) {
    process.stdout.write(usage);
    return 0;
  }
  using interrupted = interruption();
  const { signal } = interrupted;
  try {
    return await demonstrate(wish, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    return 0;
  }
}

async function demonstrate({ kubeconfig, isOnce }: Wish, signal: AbortSignal): Promise<number> {
  const progress = showProgress();
  const opening = { onProgress: progress.report, signal };
  await using place = kubeconfig ? await openGivenPlace(kubeconfig, opening) : await openLocalPlace(opening);
  progress.report("starting Latchkey");
  const started = await startLatchkey(place, signal);
  await using latchkey = started.latchkey;
  await using _tour = place.isOurs ? undefined : removingTour(place);
  progress.done();

  const where = place.isOurs ? "a control plane of its own" : place.kubectl.kubeconfig;
  write(`Latchkey is running in ${where}. This is what it does:\n`);
  const hasSidecars = started.hasAdmission && (await hasOurSidecarSets(place));
  await takeTour({ place, latchkey, write, hasSidecars });
  write(farewellOf(place, latchkey));
  if (isOnce) return 0;

  write("\nCtrl-C stops everything that was started here.\n");
  const ending = await Promise.race([latchkey.ended, aborted(signal)]);
  if (!ending || signal.aborted) {
    write("\nStopping.\n");
    return 0;
  }
  write(`\nLatchkey has ended (${describeEnding(ending)}); its log ends with:\n${lastLines(place.operatorLog)}\n`);
  return 1;
}

interface Started {
  readonly latchkey: Latchkey;
  /** Whether the API server can ask it. */
  readonly hasAdmission: boolean;
}

async function startLatchkey(place: Place, signal: AbortSignal): Promise<Started> {
  const { kubeconfig } = place.kubectl;
  const options = { kubeconfig, logFile: place.operatorLog, signal };
  // In somebody's cluster there may be Clusters of Kubermatic: they are none of the tour's business.
  const common = ["--install-crds", place.user ? "--replica-id=npm-start" : "--clusters=off"];
  const latchkey = await Latchkey.start({ ...options, args: common });
  if (place.isOurs || (await isAdmissionReachable(place))) return { latchkey, hasAdmission: true };

  await latchkey.stop();
  write(
    "The API server of this cluster cannot call this machine, so Latchkey runs without asking whether the writer of a\n" +
      "SecretSync may read what it copies, and without SidecarSets. Set LATCHKEY_ADMISSION_URL to an address that it can\n" +
      "call to have both.\n\n",
  );
  const args = [...common, "--reference-check=off", "--sidecars=off"];
  return { latchkey: await Latchkey.start({ ...options, args }), hasAdmission: false };
}

/** With the original project's CRD, putting containers into Pods is that project's. */
async function hasOurSidecarSets({ kubectl }: Place): Promise<boolean> {
  const crd = ["get", "crd", "sidecarsets.apps.kruise.io", "-o", "jsonpath={.metadata.labels.latchkey\\.dev/stand-in}"];
  return (await runKubectl(crd, { ...kubectl, cwd: root })).stdout === "true";
}

/** A write that is only tried asks the webhook as well. */
async function isAdmissionReachable({ kubectl }: Place): Promise<boolean> {
  const trial = ["create", "--dry-run=server", "-f", "examples/secretsync/watch.yaml"];
  const { stderr } = await runKubectl(trial, { ...kubectl, cwd: root });
  return !stderr.includes("failed calling webhook");
}

function removingTour({ kubectl: { program, kubeconfig, cacheDir } }: Place): AsyncDisposable {
  return { [Symbol.asyncDispose]: () => removeTour({ program, kubeconfig, cacheDir }) };
}

function farewellOf(place: Place, { metricsUrl }: Latchkey): string {
  const { program } = place.kubectl;
  const settings = [
    ...(program === "kubectl" ? [] : [`alias kubectl=${quoted(program)}`]),
    ...Object.entries(variablesOf(place)).map(([name, path]) => `export ${name}=${quoted(path)}`),
  ];
  const commands = [
    "describe secretsync tour-mail-login",
    `patch secret mail-login -n tour-vault --type=merge -p '{"stringData":{"password":"changed at the source"}}'`,
    "get secrets -A -l app.kubernetes.io/managed-by=latchkey",
    ...(place.user ? ["--kubeconfig $USER_CLUSTER get secrets -A -l app.kubernetes.io/managed-by=latchkey"] : []),
  ];
  return `
Metrics:  ${metricsUrl}/metrics
Log:      ${place.operatorLog}

To go on yourself, in another terminal and this folder:

${settings.map((setting) => `  ${setting}`).join("\n")}

Worth trying there:

${commands.map((command) => `  kubectl ${command}`).join("\n")}
`;
}

/** What was asked for, or what is wrong with it. */
export function parseWish(args: readonly string[]): Wish | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: { kubeconfig: { type: "string" }, once: { type: "boolean" }, help: { type: "boolean", short: "h" } },
    });
    if (values.kubeconfig === "") return "--kubeconfig needs a path";
    return { kubeconfig: values.kubeconfig, isOnce: values.once ?? false, wantsHelp: values.help ?? false };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function write(text: string): void {
  process.stdout.write(text);
}

async function aborted(signal: AbortSignal): Promise<undefined> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

if (import.meta.main) {
  process.exitCode = await main(process.argv.slice(2)).catch((error: Error) => {
    process.stderr.write(`\n${error.message}\n`);
    return 1;
  });
}
