/** Runs a task over every item, `limit` at a time. */
export async function inParallel<T>(
  items: readonly T[],
  limit: number,
  task: (item: T, at: number) => Promise<unknown>,
): Promise<void> {
  const rest = items.entries();
  const worker = async () => {
    for (const [at, item] of rest) await task(item, at);
  };
  await Promise.all(Array.from({ length: limit }, worker));
}
