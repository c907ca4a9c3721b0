import { lockFile } from "../lock.ts";

/** Holds a lock until it is killed. */
const lock = await lockFile(process.argv[2] ?? "");
process.send?.("locked");
setInterval(() => lock, 60_000);
