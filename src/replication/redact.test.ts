import assert from "node:assert/strict";
import { test } from "node:test";
import { redact } from "./redact.ts";

const b64 = (text: string) => Buffer.from(text).toString("base64");
const data = {
  password: b64("hunter2"),
  long: b64("xhunter2x"),
  file: b64("first line\nsecond line\n"),
  empty: "",
  n: b64("7"),
};

const cases = [
  { name: "nothing secret", text: "quota exceeded: 7 of 7", after: "quota exceeded: 7 of 7" },
  { name: "plain", text: "I do not like hunter2 at all", after: "I do not like [redacted] at all" },
  { name: "base64", text: `got ${b64("hunter2")}`, after: "got [redacted]" },
  { name: "base64 without padding", text: `got ${b64("hunter2").replace(/=+$/, "")}.`, after: "got [redacted]." },
  { name: "a value inside another", text: "xhunter2x", after: "[redacted]" },
  { name: "one line of a file", text: "bad: second line", after: "bad: [redacted]" },
  { name: "quoted as JSON", text: 'bad: "first line\\nsecond line\\n"', after: 'bad: "[redacted]"' },
  { name: "more than once", text: "hunter2 hunter2", after: "[redacted] [redacted]" },
];

for (const { name, text, after } of cases) test(`redact: ${name}`, () => assert.equal(redact(text, data), after));
