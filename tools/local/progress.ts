/** Says in a few words what is being done now; a repeated call replaces the line before. */
export type Progress = (message: string) => void;

export const silent: Progress = () => {};

/** Shows progress on standard error: one line that changes on a terminal, one line per new message elsewhere. */
export function showProgress(stream: NodeJS.WriteStream = process.stderr): { readonly report: Progress; done(): void } {
  if (stream.isTTY) {
    return {
      report: (message) => stream.write(`\r\x1b[2K${message}`),
      done: () => stream.write("\r\x1b[2K"),
    };
  }
  let last = "";
  return {
    report(message) {
      const step = message.replace(/ \(.*\)$/, ""); // elapsed times would fill a log
      if (step !== last) stream.write(`${message}\n`);
      last = step;
    },
    done() {},
  };
}
