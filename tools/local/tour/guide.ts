import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { type KubectlOptions, type Ran, runKubectl } from "../kubectl.ts";
import { source } from "../operator.ts";

const root = join(import.meta.dirname, "..", "..", "..");

/** Shows commands and what really comes of them. Throws when one fails. */
export interface Guide {
  tell(...lines: readonly string[]): void;
  /** kubectl. */
  show(...args: readonly string[]): Promise<void>;
  showLatchkey(...args: readonly string[]): Promise<void>;
  /** `kubectl wait`: what people would do by looking again. */
  until(...args: readonly string[]): Promise<void>;
  /** The same for what kubectl cannot wait for: until it answers this. */
  untilAnswer(wanted: string, ...args: readonly string[]): Promise<void>;
}

interface GuideOptions {
  readonly kubectl: Omit<KubectlOptions, "cwd">;
  /** Commands are shown with `$NAME` and run with the value. */
  readonly variables: Readonly<Record<string, string>>;
  readonly write: (text: string) => void;
}

export function guideFor({ kubectl, variables, write }: GuideOptions): Guide {
  const filled = (arg: string) => arg.replaceAll(/\$([A-Z_]+)/g, (whole, name: string) => variables[name] ?? whole);
  const run = (args: readonly string[]) => runKubectl(args.map(filled), { ...kubectl, cwd: root });
  const show = async (command: string, args: readonly string[], running: () => Promise<Ran>) => {
    write(`  $ ${command} ${args.map(quoted).join(" ")}\n`);
    const ran = await running();
    write(indented(`${ran.stdout}${ran.stderr}`));
    demand(ran, `${command} ${args.join(" ")}`);
  };
  return {
    tell: (...lines) => write(`\n${lines.join("\n")}\n\n`),
    show: (...args) => show("kubectl", args, () => run(args)),
    showLatchkey: (...args) =>
      show("npm run -s latchkey --", args, async () => {
        const command = [source, ...args.map(filled)];
        const { signal } = kubectl;
        return { code: 0, ...(await promisify(execFile)(process.execPath, command, { cwd: root, signal })) };
      }),
    until: async (...args) => demand(await run(["wait", ...args, "--timeout=120s"]), `kubectl wait ${args.join(" ")}`),
    async untilAnswer(wanted, ...args) {
      const giveUpAtMs = performance.now() + 120_000;
      while ((await run(args)).stdout !== wanted) {
        if (performance.now() > giveUpAtMs) throw new Error(`kubectl ${args.join(" ")} does not answer ${wanted}`);
      }
    },
  };
}

function demand({ code, stderr }: Ran, command: string): void {
  if (code !== 0) throw new Error(`${command} failed (exit code ${code}): ${stderr.trim()}`);
}

/** As it can be pasted into a shell, variables included. */
export function quoted(arg: string): string {
  return /^(?:[\w@%+=:,./-]|\$[A-Z_]+)+$/.test(arg) ? arg : `'${arg}'`;
}

function indented(text: string): string {
  return text
    .trimEnd()
    .replaceAll(/^(?=.)/gm, "  ")
    .concat("\n");
}
