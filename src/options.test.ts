import assert from "node:assert/strict";
import { test } from "node:test";
import { choice, envOf, onOff, text } from "./options.ts";

test("an option's variable is its flag in capitals", () => {
  assert.equal(envOf(text({ name: "metrics-address", about: "", fallback: undefined })), "LATCHKEY_METRICS_ADDRESS");
});

test("a switch takes on and off, true and false", () => {
  const option = onOff({ name: "leader-elect", about: "", fallback: true });
  assert.deepEqual(["on", "true", "off", "false"].map(option.parse), [true, true, false, false]);
  assert.throws(() => option.parse("maybe"), /neither on nor off/u);
});

test("a choice names what it would have taken", () => {
  const option = choice(["json", "text"], { name: "log-format", about: "", fallback: "json" });
  assert.throws(() => option.parse("xml"), /"xml" is none of json, text/u);
});
