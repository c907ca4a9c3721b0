import { version } from "../../version.ts";

export function printVersion(write: (text: string) => void): number {
  write(`latchkey ${version} (node ${process.versions.node})\n`);
  return 0;
}
