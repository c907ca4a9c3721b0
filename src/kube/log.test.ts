import assert from "node:assert/strict";
import { test } from "node:test";
import { Sensitive } from "../api/sensitive.ts";
import { createLog, describeError } from "./log.ts";

function logOf(options: { level: "debug" | "info"; format: "json" | "text" }) {
  const lines: string[] = [];
  return { log: createLog({ ...options, write: (line) => lines.push(line) }), lines };
}

test("JSON: one line with time, level, message, bound fields and own ones", () => {
  const { log, lines } = logOf({ level: "info", format: "json" });
  log.with({ controller: "a" }).info("ready", { count: 2, absent: undefined });
  const { time, ...rest } = JSON.parse(lines[0] ?? "");
  assert.ok(!Number.isNaN(Date.parse(time)));
  assert.deepEqual(rest, { level: "info", message: "ready", controller: "a", count: 2 });
  assert.ok(lines[0]?.endsWith("}\n"));
});

test("below the level nothing is written", () => {
  const { log, lines } = logOf({ level: "info", format: "json" });
  log.debug("x");
  assert.deepEqual(lines, []);
});

test("text: for people", () => {
  const { log, lines } = logOf({ level: "debug", format: "text" });
  log.warn("not copied", { secret: "a/b", why: "no right" });
  assert.match(lines[0] ?? "", /^\S+ WARN {2}not copied secret=a\/b why="no right"\n$/);
});

test("an error prints the words of its chain and none of its fields", () => {
  const cause = Object.assign(new Error("refused"), { body: "hunter2" });
  const { log, lines } = logOf({ level: "info", format: "json" });
  log.error("failed", { error: new Error("update Secret a/b", { cause }), list: [cause] });
  const line = JSON.parse(lines[0] ?? "");
  assert.equal(line.error, "update Secret a/b: refused");
  assert.deepEqual(line.list, ["refused"]);
  assert.ok(!lines[0]?.includes("hunter2"));
});

test("what is sensitive prints as redacted in both formats", () => {
  for (const format of ["json", "text"] as const) {
    const { log, lines } = logOf({ level: "info", format });
    log.info("x", { token: new Sensitive("hunter2") });
    assert.match(lines[0] ?? "", /\[redacted\]/);
  }
});

test("describeError ends even when a chain of causes does not", () => {
  const error: { message: string; cause?: unknown } = new Error("a");
  error.cause = error;
  assert.equal(describeError(error), "a");
});
