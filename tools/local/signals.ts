/**
 * A signal that aborts on the first Ctrl-C or TERM, so that `finally` and `await using` get to clean up. A second one ends the process at
 * once; its children go with it all the same.
 */
export function interruption(): { readonly signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  const onSignal = (name: NodeJS.Signals) => {
    if (controller.signal.aborted) process.exit(130);
    controller.abort(new Error(`interrupted by ${name}`));
  };
  for (const name of names) process.on(name, onSignal);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      for (const name of names) process.off(name, onSignal);
    },
  };
}
