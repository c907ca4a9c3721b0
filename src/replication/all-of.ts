/** Like `Promise.all`, but a failure waits for the others: nothing goes on writing after the pass has ended. */
export async function allOf<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(work);
  return settled.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}
