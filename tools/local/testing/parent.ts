import { startChild } from "../child.ts";

/** A parent for the tests to kill: starts the script it is told, pauses it on demand, and waits for its end. */
const { script, logFile } = JSON.parse(process.argv[2] ?? "") as { readonly script: string; readonly logFile: string };
const starting = startChild({ command: "/bin/sh", args: ["-c", script], logFile, graceMs: 300 });
const pause = async () => {
  (await starting).pause();
  process.send?.("paused");
};
process.once("message", () => void pause());
await (await starting).ended;
