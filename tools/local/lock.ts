import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * Holds a lock on a file among processes until disposed. SQLite's lock on its file is the kernel's: it goes with its holder, however
 * that ends, so there is nothing stale to recognise.
 */
export async function lockFile(
  path: string,
  { signal, onWait }: { readonly signal?: AbortSignal | undefined; readonly onWait?: () => void } = {},
): Promise<Disposable> {
  for (let attempt = 0; ; attempt++) {
    signal?.throwIfAborted();
    const lock = tryLock(path);
    if (lock) return lock;
    if (attempt === 0) onWait?.();
    await sleep(200, undefined, { signal });
  }
}

/** The lock, or undefined while somebody has it. */
export function tryLock(path: string): Disposable | undefined {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec("BEGIN EXCLUSIVE");
    return { [Symbol.dispose]: () => database.isOpen && database.close() };
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    throw new Error(`lock ${path}`, { cause: error });
  }
}

function isBusy(error: unknown): boolean {
  const sqliteBusy = 5;
  return error instanceof Error && (error as { errcode?: number }).errcode === sqliteBusy;
}
