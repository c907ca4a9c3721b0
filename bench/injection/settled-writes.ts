import { setTimeout as sleep } from "node:timers/promises";
import type { Arena, Write } from "../lib/arena.ts";

/** The operator's writes since `before`, once it has had time for all that follows. */
export async function settledWrites(arena: Arena, before: number): Promise<readonly Write[]> {
  await sleep(3000);
  return (await arena.writes()).slice(before);
}
