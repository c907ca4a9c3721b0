import assert from "node:assert/strict";
import { test } from "node:test";
import { choice, duration, envOf, onOff, text } from "./options.ts";

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

test("a duration is read back in milliseconds", () => {
  const option = duration({ name: "idle-copies", about: "", fallback: 3_600_000, fallbackText: "1h" });
  assert.deepEqual(
    ["1h", "90s", "1h30m", "1.5h", "500ms", "0"].map(option.parse),
    [3_600_000, 90_000, 5_400_000, 5_400_000, 500, 0],
  );
  for (const wrong of ["-1h", "1", "an hour"]) assert.throws(() => option.parse(wrong), /is not a duration such as/u);
});
