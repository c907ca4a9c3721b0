import assert from "node:assert/strict";
import { test } from "node:test";
import type { Condition } from "../../api/objects.ts";
import type { SidecarSetStatus } from "../../api/sidecar-set.ts";
import { encodeStatus } from "../../runtime/beside-status.ts";
import { metadataOf } from "../../testing/sidecar-records.ts";
import { parseStatus } from "./beside-status.ts";

const condition = (type: string, message: string): Condition => ({
  type,
  status: "False",
  reason: "Collision",
  message,
});
const entry = (length: number, at = 0) => ({
  ...{ namespace: "n".repeat(length), name: `${"s".repeat(length)}${at}`, copyName: "c".repeat(length) },
  ...{ state: "Copied" as const, copies: 1, suffixed: 0 },
});
const status = (message: string, references: number, length: number): SidecarSetStatus => ({
  observedGeneration: 1,
  pullSecrets: `${references}/${references}`,
  imagePullSecrets: Array.from({ length: references }, (_, at) => entry(length, at)),
  conditions: [condition("Ready", message), condition("PullSecretsReady", message)],
});

const cases = [
  { name: "short", given: status("fine", 2, 10), messages: 4, references: 2 },
  { name: "two long messages", given: status("x".repeat(3_000), 2, 10), messages: 1_024, references: 2 },
  { name: "messages of many bytes", given: status("ü".repeat(3_000), 0, 10), messages: 512, references: 0 },
  { name: "messages that need escaping", given: status('"'.repeat(3_000), 0, 10), messages: 512, references: 0 },
  { name: "many references", given: status("x".repeat(3_000), 16, 40), messages: 256, references: 16 },
  { name: "the longest references", given: status("x".repeat(3_000), 16, 253), messages: 64, references: 4 },
] as const;

for (const { name, given, messages, references } of cases) {
  test(`encodeStatus: ${name}`, () => {
    const text = encodeStatus(given);
    assert.ok(Buffer.byteLength(text) <= 4_096, `${Buffer.byteLength(text)} bytes`);
    const { conditions, imagePullSecrets, ...rest } = JSON.parse(text);
    assert.deepEqual(
      conditions.map((each: Condition) => each.message.length),
      [messages, messages],
    );
    assert.equal(imagePullSecrets.length, references);
    assert.deepEqual(imagePullSecrets, given.imagePullSecrets?.slice(0, references));
    assert.equal(rest.pullSecrets, given.pullSecrets, "the count tells of those that are left out");
  });
}

test("parseStatus: what was encoded", () => {
  const annotations = { "latchkey.dev/status": encodeStatus(status("fine", 2, 10)) };
  const { imagePullSecrets, conditions } = parseStatus({ metadata: metadataOf("logs", { annotations }) }) ?? {};
  assert.deepEqual(
    { imagePullSecrets, conditions },
    {
      imagePullSecrets: status("fine", 2, 10).imagePullSecrets,
      conditions: status("fine", 2, 10).conditions,
    },
  );
});

for (const text of ["", "{", "[]", "null", '"x"']) {
  test(`parseStatus: ${text || "nothing"} is none`, () => {
    const annotations = { "latchkey.dev/status": text };
    assert.equal(parseStatus({ metadata: metadataOf("logs", { annotations }) }), undefined);
  });
}

for (const text of ["{}", '{"conditions":3,"imagePullSecrets":{}}', '{"conditions":[3],"imagePullSecrets":["x"]}']) {
  test(`parseStatus: ${text} says nothing`, () => {
    const annotations = { "latchkey.dev/status": text };
    const parsed = parseStatus({ metadata: metadataOf("logs", { annotations }) });
    assert.deepEqual(parsed, { imagePullSecrets: [], conditions: [] });
  });
}
