import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describeEnding, type Ending, lastLines, startChild } from "./child.ts";

const root = join(import.meta.dirname, "..", "..");
export const source = join(root, "src", "main.ts");

/** Slow on purpose: two loaded cores. */
const readyWithinMs = 120_000;

export interface OperatorOptions {
  readonly kubeconfig: string;
  readonly logFile: string;
  /** After those every operator gets; a repeated flag counts as given last. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The built program instead of the sources. */
  readonly bundle?: string;
  readonly signal?: AbortSignal | undefined;
}

export interface Operator extends AsyncDisposable {
  readonly pid: number;
  readonly metricsUrl: string;
  readonly admissionUrl: string;
  readonly logFile: string;
  readonly ending: Ending | undefined;
  readonly ended: Promise<Ending>;
  /** Every line logged so far, parsed; what is no JSON is left out. */
  logs(): readonly LogLine[];
  stop(): Promise<void>;
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
}

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

/** Starts Latchkey on free ports and resolves when it says it is ready. */
export async function startOperator(options: OperatorOptions): Promise<Operator> {
  const { kubeconfig, logFile, args = [], bundle, signal } = options;
  signal?.throwIfAborted();
  const loopback = ["--metrics-address=127.0.0.1:0", "--admission-address=127.0.0.1:0", "--log-format=json"];
  const from = sizeOf(logFile); // a restarted operator appends
  const child = await startChild({
    command: process.execPath,
    args: ["--max-semi-space-size=2", bundle ?? source, "run", `--kubeconfig=${kubeconfig}`, ...loopback, ...args],
    env: operatorEnv(options.env ?? process.env),
    cwd: root,
    logFile,
    graceMs: 30_000,
  });
  try {
    const ready = await readyLine();
    return {
      pid: child.pid,
      logFile,
      metricsUrl: urlOf("http", ready.metrics),
      admissionUrl: urlOf("https", ready.admission),
      get ending() {
        return child.ending;
      },
      ended: child.ended,
      logs: () => parseLog(logFile, from),
      stop: () => child.stop(),
      kill: () => child.kill(),
      pause: () => child.pause(),
      resume: () => child.resume(),
      [Symbol.asyncDispose]: () => child.stop(),
    };
  } catch (error) {
    await child.kill();
    throw error;
  }

  async function readyLine(): Promise<LogLine> {
    const giveUpAt = performance.now() + readyWithinMs;
    for (;;) {
      signal?.throwIfAborted();
      const ready = parseLog(logFile, from).find((line) => line.message === "ready");
      if (ready) return ready;
      const problem = child.ending && `ended (${describeEnding(child.ending)})`;
      if (problem || performance.now() > giveUpAt) {
        throw new Error(`the operator ${problem ?? "does not get ready"}; its log ends with:\n${lastLines(logFile)}`);
      }
      await Promise.race([sleep(50), child.ended]);
    }
  }
}

/** Neither the user's cluster nor the settings of a test run are meant for it. */
function operatorEnv(env: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  const kept = Object.entries(env).filter(([name]) => name !== "KUBECONFIG" && !name.startsWith("LATCHKEY_TEST_"));
  return Object.fromEntries(kept);
}

function parseLog(logFile: string, from: number): LogLine[] {
  const lines = readFileSync(logFile).subarray(from).toString("utf8").split("\n");
  return lines.flatMap((line) => {
    try {
      const parsed: unknown = JSON.parse(line);
      return typeof parsed === "object" && parsed !== null ? [parsed as LogLine] : [];
    } catch {
      return []; // half a line, or something from below: a stack trace, a warning of Node's
    }
  });
}

function urlOf(scheme: string, address: unknown): string {
  const text = String(address);
  if (text.includes("://")) return text.replace(/\/$/, "");
  return `${scheme}://${text.startsWith(":") ? `127.0.0.1${text}` : text}`;
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
