import { startChild } from "../child.ts";

/** A parent for the tests to kill: starts the script it is told and waits for its end. */
const { script, logFile, isPaused } = JSON.parse(process.argv[2] ?? "") as {
  readonly script: string;
  readonly logFile: string;
  readonly isPaused: boolean;
};
const child = await startChild({ command: "/bin/sh", args: ["-c", script], logFile, graceMs: 300 });
if (isPaused) child.pause();
process.send?.("started");
await child.ended;
