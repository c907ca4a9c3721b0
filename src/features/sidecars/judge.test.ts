import assert from "node:assert/strict";
import { test } from "node:test";
import { sidecarRecord } from "../../testing/sidecar-records.ts";
import { nameConflictOf } from "./judge.ts";

const set = (name: string, container: string, app = "x") =>
  sidecarRecord(name, { selector: { matchLabels: { app } }, containers: [{ name: container, image: "i:1" }] });

const cases = [
  { name: "alone", others: [], message: undefined },
  { name: "its own former self", others: [set("mesh", "proxy")], message: undefined },
  { name: "another container", others: [set("logs", "shipper")], message: undefined },
  { name: "the same container for other Pods", others: [set("logs", "proxy", "y")], message: undefined },
  {
    name: "the same container",
    others: [set("other", "shipper"), set("logs", "proxy")],
    message: "container proxy is also injected by SidecarSet logs",
  },
];

for (const { name, others, message } of cases) {
  test(`nameConflictOf: ${name}`, () => {
    const rejected = nameConflictOf(set("mesh", "proxy"), others);
    assert.deepEqual(rejected, message && { accepted: false, reason: "NameConflict", message });
  });
}
