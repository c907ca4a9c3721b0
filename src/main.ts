#!/usr/bin/env node
import { Command } from "commander";
import { configOf, connectionOptions, homeOf, modeOption, operatorOptions, surroundings } from "./config.ts";
import { clusters } from "./features/clusters/entry.ts";
import type { FeatureEntry } from "./features/feature.ts";
import { secretSync } from "./features/secretsync/entry.ts";
import { sidecars } from "./features/sidecars/entry.ts";
import { createLog, describeError } from "./kube/log.ts";
import { choice, type Option, onOff } from "./options.ts";
import { installationId, openInstallation } from "./pullsecrets/installation.ts";
import { UsageError } from "./settings.ts";
import { addCommand, type CommandShape } from "./surfaces/cli/command-line.ts";
import { version } from "./version.ts";

/** The one list of features. */
const features: readonly FeatureEntry[] = [secretSync, sidecars, clusters];

// Everything a command needs is imported when it runs: `version` and `--help` must be quick.
const apply = onOff({
  name: "apply",
  about: "apply them instead of printing; never over a foreign one",
  fallback: false,
});
const output = choice(["table", "json"], {
  name: "output",
  short: "o",
  about: "form of the answer",
  fallback: "table",
});
const copies = choice(["keep", "delete"], {
  name: "copies",
  about: "what becomes of the copies of Secrets",
  fallback: "keep",
});
const crds = choice(["keep", "delete"], {
  name: "crds",
  about: "what becomes of our CRDs and all their objects",
  fallback: "keep",
});

const stop = new AbortController();
const { signal } = stop;
const print = (text: string): void => void process.stdout.write(text);

const connection = { heading: "Cluster:", options: connectionOptions };
const featureOptions: readonly Option[] = features.flatMap((entry) => [modeOption(entry), ...(entry.options ?? [])]);
const runOptions: readonly Option[] = [...operatorOptions, installationId];
const alsoInFile = [...runOptions, ...featureOptions];

const commands: readonly CommandShape[] = [
  {
    name: "run",
    about: "run the operator",
    groups: [
      connection,
      { heading: "Operator:", options: runOptions },
      { heading: "Features:", options: featureOptions },
    ],
    example: "latchkey run --kubeconfig ~/.kube/config --install-crds",
    run: async (settings) => {
      const config = configOf(settings, surroundings);
      const log = createLog({ level: config.logLevel, format: config.logFormat });
      // A slip in one corner must not take the copies of everybody else down.
      process.on("unhandledRejection", (error) => log.error("unhandled rejection", { error }));
      const { runOperator } = await import("./operator.ts");
      await runOperator(config, features, { signal, log });
      return 0;
    },
  },
  {
    name: "crds",
    about: "print the CRDs as YAML, or apply them",
    groups: [{ heading: "Options:", options: [apply] }, connection],
    alsoInFile,
    example: "latchkey crds | kubectl apply -f -",
    run: async (settings) => {
      const { applyCrds, printCrds } = await import("./surfaces/cli/crds.ts");
      if (!settings.get(apply)) return await printCrds(features, print);
      const { connect } = await import("./connect.ts");
      await using kube = await connect(homeOf(settings, surroundings));
      return await applyCrds(kube, features, print, { signal });
    },
  },
  {
    name: "status",
    about: "show features, modes, kinds, counts and what is wrong",
    groups: [{ heading: "Options:", options: [output] }, connection],
    alsoInFile,
    run: async (settings) => {
      const { connect } = await import("./connect.ts");
      const { getStatus } = await import("./surfaces/cli/status.ts");
      const { renderStatus } = await import("./surfaces/cli/render-status.ts");
      const { listConfigurations: listWebhooks } = await import("./surfaces/webhooks/configurations.ts");
      const home = homeOf(settings, surroundings);
      await using kube = await connect(home);
      const { namespace } = home;
      const sources = { kube, namespace, entries: features, listWebhooks, now: () => new Date() };
      const report = await getStatus(sources, { signal });
      print(settings.get(output) === "json" ? `${JSON.stringify(report, undefined, 2)}\n` : renderStatus(report));
      return 0;
    },
  },
  {
    name: "uninstall",
    about:
      "take back what Latchkey left in the cluster: webhooks, finalizers, labels, marks; the operator must be stopped",
    groups: [
      { heading: "Options:", options: [copies, crds, installationId] },
      { heading: "Features:", options: features.flatMap(({ uninstallOptions = [] }) => uninstallOptions) },
      connection,
    ],
    alsoInFile,
    run: async (settings) => {
      const { connect } = await import("./connect.ts");
      const { uninstall } = await import("./surfaces/cli/uninstall.ts");
      const { removeConfigurations } = await import("./surfaces/webhooks/configurations.ts");
      const { webhookConfigurationOf } = await import("./runtime/admission.ts");
      const { certificateSecretName } = await import("./surfaces/webhooks/certificates.ts");
      const home = homeOf(settings, surroundings);
      await using kube = await connect(home);
      return await uninstall(
        {
          kube,
          namespace: home.namespace,
          entries: features,
          installation: await openInstallation(kube, settings, { signal }),
          settings,
          copies: settings.get(copies),
          crds: settings.get(crds),
          certificateSecret: certificateSecretName,
          removeWebhooks: (client, call) =>
            removeConfigurations(
              client,
              features.map(({ name }) => webhookConfigurationOf(name)),
              call,
            ),
          write: print,
        },
        { signal },
      );
    },
  },
  {
    name: "version",
    about: "print the version",
    groups: [],
    run: async () => {
      const { printVersion } = await import("./surfaces/cli/version.ts");
      return printVersion(print);
    },
  },
];

async function main(argv: readonly string[]): Promise<number> {
  const program = new Command("latchkey")
    .description("The life of a Kubernetes Secret in one operator.")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "show this help")
    .exitOverride();
  let exitCode = 0;
  for (const shape of commands) {
    addCommand(program, shape, process.env, (code) => {
      exitCode = code;
    });
  }
  await program.parseAsync([...argv]);
  return exitCode;
}

/** Says what went wrong, once, and answers the exit code. */
function report(error: unknown): number {
  // commander has printed what it had to say; help and version are no failures.
  if (error instanceof Error && "exitCode" in error && "code" in error) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof UsageError) {
    process.stderr.write(error.problems.map((problem) => `latchkey: ${problem}\n`).join(""));
    process.stderr.write("latchkey: see latchkey <command> --help\n");
    return 2;
  }
  if (signal.aborted) return 0;
  process.stderr.write(`latchkey: ${describeError(error)}\n`);
  return 1;
}

for (const name of ["SIGINT", "SIGTERM"] as const) {
  // The second one is impatience: the default is to die.
  process.once(name, () => stop.abort());
}
process.exitCode = await main(process.argv).catch(report);
