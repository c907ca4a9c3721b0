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
  ".dockerconfigjson": b64(
    JSON.stringify({
      auths: {
        "quay.io": { auth: b64("robot:pa:ss"), email: "me@x" },
        "ghcr.io": { username: "jane", password: 'say "x"' },
      },
    }),
  ),
  deep: b64("[".repeat(100_000) + "]".repeat(100_000)),
};

const cases = [
  { name: "nothing secret", text: "quota exceeded: 7 of 7", after: "quota exceeded: 7 of 7" },
  { name: "plain", text: "I do not like hunter2 at all", after: "I do not like [redacted] at all" },
  { name: "base64", text: `got ${b64("hunter2")}`, after: "got [redacted]" },
  { name: "base64 without padding", text: `got ${b64("hunter2").replace(/=+$/, "")}.`, after: "got [redacted]." },
  { name: "a value inside another", text: "xhunter2x", after: "[redacted]" },
  { name: "one line of a file", text: "bad: second line", after: "bad: [redacted]" },
  { name: "quoted as JSON", text: 'bad: "first line\\nsecond line\\n"', after: 'bad: "[redacted]"' },
  { name: "credentials in a pull secret", text: `quay.io: ${b64("robot:pa:ss")}`, after: "quay.io: [redacted]" },
  { name: "the same decoded", text: "quay.io has robot:pa:ss", after: "quay.io has [redacted]" },
  { name: "its password alone", text: "pa:ss is weak", after: "[redacted] is weak" },
  { name: "a password beside its user", text: 'jane has say "x"', after: "[redacted] has [redacted]" },
  { name: "the same quoted", text: '{"password":"say \\"x\\""}', after: '{"password":"[redacted]"}' },
  { name: "more than once", text: "hunter2 hunter2", after: "[redacted] [redacted]" },
];

for (const { name, text, after } of cases) test(`redact: ${name}`, () => assert.equal(redact(text, data), after));
