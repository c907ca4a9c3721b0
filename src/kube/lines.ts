const newline = 10;

/**
 * Cuts a stream of bytes into lines. A line that spans many chunks is joined once, when its end is there: joining with
 * each chunk would cost the square of its length.
 */
export class LineSplitter {
  #parts: Buffer[] = [];

  /** The lines that `chunk` completes, without their line ends; blank ones are left out. */
  *push(chunk: Buffer): Generator<string> {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const line = this.#finish(chunk.subarray(start, end));
      start = end + 1;
      if (line.trim() !== "") yield line;
    }
    if (start < chunk.length) this.#parts.push(chunk.subarray(start));
  }

  #finish(last: Buffer): string {
    if (this.#parts.length === 0) return last.toString("utf8");
    // Joined as bytes: a character may be cut in two by the chunk's end.
    const whole = Buffer.concat([...this.#parts, last]).toString("utf8");
    this.#parts = [];
    return whole;
  }
}
