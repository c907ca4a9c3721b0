import { execFile } from "node:child_process";
import { glob } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { promisify } from "node:util";
import { runChecks } from "./check.ts";
import { type Binaries, ensureBinaries, linkBinaries } from "./local/binaries.ts";
import { lastLines, startChild } from "./local/child.ts";
import { type ControlPlane, startControlPlane } from "./local/control-plane.ts";
import { binaryNames } from "./local/go-modules.ts";
import { leastPrivilegeKubeconfig } from "./local/least-privilege.ts";
import { type Operator, source, startOperator } from "./local/operator.ts";
import { showProgress } from "./local/progress.ts";
import { interruption } from "./local/signals.ts";

const root = join(import.meta.dirname, "..");

/**
 * `npm test`: everything. `npm test -- [--no-operator] <files and flags of node --test>`: these test files, without the checks.
 */
async function main(args: readonly string[]): Promise<number> {
  const files = args.filter((arg) => !arg.startsWith("-"));
  const flags = args.filter((arg) => arg.startsWith("-") && arg !== "--no-operator");
  if (args.length === 0 && !(await runChecks())) return 1;

  using interrupted = interruption();
  const { signal } = interrupted;
  const progress = showProgress();
  // All of them, before the first test: one that needs another plane must not find itself building.
  const binaries = await ensureBinaries(binaryNames, { signal, onProgress: progress.report });
  await using plane = await startControlPlane({ nodes: 3, auditLog: true, signal, onProgress: progress.report });
  const operatorLog = join(plane.dir, "logs", "operator.log");
  const withOperator = !args.includes("--no-operator");
  if (withOperator) progress.report("starting the operator");
  await using operator = withOperator ? await startSharedOperator(plane, operatorLog, signal) : undefined;
  progress.done();

  const env = testEnv(plane, binaries, operator);
  const code = await runTests(files.length > 0 ? files : await allTests(), flags, env, signal);
  if (code !== 0 && operator) {
    process.stdout.write(`\nThe operator's log ends with:\n${lastLines(operatorLog, 40)}\n`);
    if (operator.ending) process.stdout.write("The operator ended before the tests did.\n");
  }
  return code;
}

/** As it runs in a cluster: the CRDs are there already and it has the rights of deploy/rbac.yaml. */
async function startSharedOperator(plane: ControlPlane, logFile: string, signal: AbortSignal): Promise<Operator> {
  const install = [source, "crds", "--apply", `--kubeconfig=${plane.kubeconfig}`];
  await promisify(execFile)(process.execPath, install, { signal });
  const kubeconfig = await leastPrivilegeKubeconfig(plane, { signal });
  return startOperator({ kubeconfig, logFile, args: ["--log-level=debug"], signal });
}

function testEnv(
  plane: ControlPlane,
  binaries: Binaries,
  operator: Operator | undefined,
): Record<string, string | undefined> {
  return {
    ...process.env,
    KUBECONFIG: undefined,
    // Every file is a process of its own, and many start operators: each would compile the same sources again.
    NODE_COMPILE_CACHE: join(plane.dir, "compile-cache"),
    KUBEBUILDER_ASSETS: linkBinaries(binaries, join(plane.dir, "bin")),
    LATCHKEY_TEST_KUBECONFIG: plane.kubeconfig,
    LATCHKEY_TEST_KUBECTL: plane.kubectl,
    LATCHKEY_TEST_AUDIT_LOG: plane.auditLog,
    LATCHKEY_TEST_METRICS: operator?.metricsUrl,
    LATCHKEY_TEST_OPERATOR_LOG: operator?.logFile,
  };
}

async function allTests(): Promise<string[]> {
  const files: string[] = [];
  for await (const file of glob("{src,tools,test}/**/*.test.ts", { cwd: root })) files.push(join(root, file));
  return mixed(files.sort().reverse());
}

/** The long ones, which mostly wait, among the short ones, which mostly work: so the machine is busy to the end. */
function mixed(files: readonly string[]): string[] {
  const { long = [], short = [] } = Object.groupBy(files, (file) =>
    /test\/(clusters|faults)\//.test(file) ? "long" : "short",
  );
  const shortBefore = (at: number) => Math.floor((at * short.length) / long.length);
  return long.flatMap((file, at) => [file, ...short.slice(shortBefore(at), shortBefore(at + 1))]);
}

async function runTests(
  files: readonly string[],
  flags: readonly string[],
  env: Record<string, string | undefined>,
  signal: AbortSignal,
): Promise<number> {
  const options = ["--test", "--test-reporter=spec", "--test-concurrency=7", "--test-timeout=600000", ...flags];
  await using tests = await startChild({
    command: process.execPath,
    args: [...options, ...files.map((file) => relative(root, resolve(file)))],
    env,
    cwd: root,
  });
  signal.addEventListener("abort", () => void tests.kill(), { once: true });
  const ending = await tests.ended;
  return "code" in ending ? ending.code : 1;
}

process.exitCode = await main(process.argv.slice(2)).catch((error: Error) => {
  process.stderr.write(`\n${error.message}\n`);
  if (error.cause) process.stderr.write(`${String(error.cause)}\n`);
  return 1;
});
