import { parseArgs } from "node:util";
import { down, runningClusters, up } from "./local/clusters.ts";
import { showProgress } from "./local/progress.ts";
import { interruption } from "./local/signals.ts";

const usage = `npm run -s cluster -- up|down|list [--name <name>] [--nodes <count>] [--emulated-version <1.33 … 1.36>]

  up     starts a local control plane that stays until "down"; prints the path of its admin kubeconfig
  down   stops it and removes what it kept
  list   shows those that run
`;

async function main(args: readonly string[]): Promise<number> {
  const command = parseCommand(args);
  if (typeof command === "string") {
    process.stderr.write(`${command}\n\n${usage}`);
    return 2;
  }
  const { verb, name, nodes, emulatedVersion } = command;
  if (verb === "help") {
    process.stdout.write(usage);
    return 0;
  }
  if (verb === "list") {
    for (const cluster of runningClusters(process.env))
      process.stdout.write(`${cluster.name}\t${cluster.kubeconfig}\n`);
    return 0;
  }
  if (verb === "down") {
    const wasThere = await down(name, process.env);
    process.stderr.write(wasThere ? `cluster ${name} is gone\n` : `there is no cluster ${name}\n`);
    return 0;
  }
  using interrupted = interruption();
  const progress = showProgress();
  const onProgress = progress.report;
  const cluster = await up(
    { name, nodes, emulatedVersion },
    { env: process.env, onProgress, signal: interrupted.signal },
  );
  progress.done();
  process.stdout.write(`${cluster.kubeconfig}\n`);
  return 0;
}

interface Command {
  readonly verb: "up" | "down" | "list" | "help";
  readonly name: string;
  readonly nodes: number;
  readonly emulatedVersion: string | undefined;
}

/** What was asked for, or what is wrong with it. */
export function parseCommand(args: readonly string[]): Command | string {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        name: { type: "string", default: "latchkey" },
        nodes: { type: "string", default: "0" },
        "emulated-version": { type: "string" },
        help: { type: "boolean", short: "h" },
      },
    });
    const { name, "emulated-version": emulatedVersion } = values;
    const nodes = Number(values.nodes);
    const [given, ...rest] = positionals;
    const verb = values.help ? "help" : (["up", "down", "list"] as const).find((known) => known === given);
    if (!verb || rest.length > 0) return `one of up, down and list is needed, not "${positionals.join(" ")}"`;
    if (!/^[a-z0-9][a-z0-9-]{0,40}$/.test(name)) return `--name ${name}: lower case letters, digits and dashes`;
    if (!Number.isInteger(nodes) || nodes < 0 || nodes > 1000) return `--nodes ${values.nodes}: a number up to 1000`;
    return { verb, name, nodes, emulatedVersion };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

if (import.meta.main) {
  process.exitCode = await main(process.argv.slice(2)).catch((error: Error) => {
    process.stderr.write(`\n${error.message}\n`);
    return 1;
  });
}
