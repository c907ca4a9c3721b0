import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LineSplitter } from "./lines.ts";

const cases: readonly { name: string; chunks: readonly string[]; lines: readonly string[] }[] = [
  { name: "one line", chunks: ["a\n"], lines: ["a"] },
  { name: "several lines in one chunk", chunks: ["a\nb\nc\n"], lines: ["a", "b", "c"] },
  { name: "a line over several chunks", chunks: ["a", "b", "", "c\nd", "e\n"], lines: ["abc", "de"] },
  { name: "the line end comes alone", chunks: ["abc", "\n"], lines: ["abc"] },
  { name: "blank lines are nothing", chunks: ["\n\na\r\n \n", "\n"], lines: ["a\r"] },
  { name: "an unfinished line is not told", chunks: ["a\nb"], lines: ["a"] },
  { name: "nothing", chunks: [], lines: [] },
];

function linesOf(chunks: readonly Buffer[]): string[] {
  const splitter = new LineSplitter();
  return chunks.flatMap((chunk) => [...splitter.push(chunk)]);
}

for (const { name, chunks, lines } of cases) {
  test(`LineSplitter: ${name}`, () => assert.deepEqual(linesOf(chunks.map((chunk) => Buffer.from(chunk))), lines));
}

test("LineSplitter: however the bytes are cut, the lines are the same", () => {
  const line = fc
    .string({ unit: "grapheme", minLength: 1 })
    .filter((text) => text.trim() !== "" && !text.includes("\n"));
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), fc.array(fc.nat(200), { maxLength: 12 }), (lines, cuts) => {
      const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(""));
      const places = [...new Set([0, ...cuts.map((cut) => Math.min(cut, bytes.length)), bytes.length])].sort(
        (a, b) => a - b,
      );
      const chunks = places.slice(1).map((place, index) => bytes.subarray(places[index], place));
      assert.deepEqual(linesOf(chunks), lines);
    }),
  );
});

test("LineSplitter: a long line in many small chunks costs no more than its length", () => {
  const splitter = new LineSplitter();
  const chunk = Buffer.alloc(16, "x");
  // Joining again with each of these chunks would copy some 80 GB: minutes, not milliseconds.
  for (let index = 0; index < 100_000; index++) assert.deepEqual([...splitter.push(chunk)], []);
  assert.equal([...splitter.push(Buffer.from("\n"))][0]?.length, 1_600_000);
});
