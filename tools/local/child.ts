import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

/**
 * Stands between us and the program it runs. Its standard input is a pipe we hold: when that closes, because we closed it or because
 * we are gone (SIGKILL included), the watcher ends the program, and in the end the whole process group.
 * CONT after TERM: a paused program would not see the TERM. The program must not inherit the pipe, hence the closed descriptors.
 * `kill -TERM 0` is for what the program has left behind (the helpers of an interrupted build) and for a watcher that never had to act;
 * one that does act ignores it and lets the supervisor report the exit code before it ends the group.
 */
const supervisor = `
grace=$1; shift
exec 4<&0
"$@" </dev/null 3>&- 4<&- &
child=$!
echo $child >&3
exec 3>&-
(
  read -r _ <&4
  trap '' TERM
  kill -TERM $child; kill -CONT $child
  while [ $grace -gt 0 ] && kill -0 $child; do sleep 0.1; grace=$((grace - 1)); done
  kill -KILL $child
  patience=50
  while [ $patience -gt 0 ] && kill -0 $$; do sleep 0.1; patience=$((patience - 1)); done
  kill -KILL 0
) >/dev/null 2>&1 &
exec 4<&-
wait $child
code=$?
trap '' TERM
kill -TERM 0
exit $code
`;

export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Both output streams are appended here; without it they are ours. */
  readonly logFile?: string;
  /** How long the program may take to end after it was asked to. */
  readonly graceMs?: number;
}

export type Ending = { readonly code: number } | { readonly signal: string };

/** A program that never outlives this process, whatever ends it. */
export interface Child extends AsyncDisposable {
  readonly pid: number;
  /** How it ended; undefined while it runs. */
  readonly ending: Ending | undefined;
  /** Resolves when the program has ended; never rejects. */
  readonly ended: Promise<Ending>;
  /** Asks it to end, insists after the grace period, resolves when it is gone. */
  stop(): Promise<void>;
  /** Ends it and all it started at once. */
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
}

export async function startChild(options: ChildOptions): Promise<Child> {
  const { command, args, logFile, cwd, env = process.env, graceMs = 5_000 } = options;
  const output = logFile === undefined ? "inherit" : openSync(logFile, "a");
  const shell = spawn(
    "/bin/sh",
    ["-c", supervisor, "latchkey-child", String(Math.ceil(graceMs / 100)), command, ...args],
    {
      detached: true, // a process group of its own: Ctrl-C reaches us first, and a build's helpers can be ended with it
      stdio: ["pipe", output, output, "pipe"],
      env: { ...env },
      cwd,
    },
  );
  if (typeof output === "number") closeSync(output);
  shell.stdin?.on("error", () => {}); // it may be gone before the pipe closes

  const running = { ending: undefined as Ending | undefined };
  const ended = new Promise<Ending>((resolve) => {
    const finish = (ending: Ending) => {
      running.ending = ending;
      resolve(ending);
    };
    shell.once("error", () => finish({ code: 126 }));
    shell.once("exit", (code, signal) => {
      signalOne(-(shell.pid ?? 0), "SIGKILL"); // the rest of the group
      finish(endingOf(code, signal));
    });
  });

  const stop = async () => {
    shell.stdin?.end();
    await ended;
  };
  const pid = Number(await firstLine(shell.stdio[3] as Readable));
  return {
    pid,
    ended,
    get ending() {
      return running.ending;
    },
    stop,
    async kill() {
      if (!running.ending) signalOne(pid, "SIGKILL"); // not the supervisor: it tells when the program is really gone
      await ended;
    },
    pause: () => signalOne(pid, "SIGSTOP"),
    resume: () => signalOne(pid, "SIGCONT"),
    [Symbol.asyncDispose]: stop,
  };
}

/** The end of a log, for an error message. */
export function lastLines(logFile: string, count = 15): string {
  try {
    return readFileSync(logFile, "utf8").trimEnd().split("\n").slice(-count).join("\n");
  } catch {
    return "";
  }
}

export function describeEnding(ending: Ending): string {
  return "code" in ending ? `exit code ${ending.code}` : ending.signal;
}

async function firstLine(stream: Readable): Promise<string> {
  for await (const line of createInterface({ input: stream })) return line;
  return "0";
}

/** A shell reports the signal that ended a program as 128 and its number. */
function endingOf(code: number | null, signal: string | null): Ending {
  if (signal) return { signal };
  const name = Object.entries(constants.signals).find(([, number]) => number + 128 === code)?.[0];
  return name ? { signal: name } : { code: code ?? 1 };
}

function signalOne(pid: number, signal: NodeJS.Signals): void {
  try {
    if (pid !== 0) process.kill(pid, signal);
  } catch {
    // It has ended already.
  }
}
