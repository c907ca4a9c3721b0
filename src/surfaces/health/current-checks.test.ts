import assert from "node:assert/strict";
import { test } from "node:test";
import type { Check } from "../../runtime/health.ts";
import { CurrentChecks } from "./current-checks.ts";

const check = (name: string): Check => ({ name, failing: () => undefined });
const namesOf = (checks: readonly Check[]) => checks.map(({ name }) => name);

test("checks come and go, and nothing is ready in between", () => {
  const checks = new CurrentChecks();
  checks.add({ live: [check("a")], ready: [check("b")] });
  assert.deepEqual([namesOf(checks.live), namesOf(checks.ready)], [["a"], ["b", "start"]]);
  assert.equal(checks.ready.at(-1)?.failing(), "still starting");
  {
    using _shown = checks.show({ live: [check("c")], ready: [check("d")] });
    assert.deepEqual(
      [namesOf(checks.live), namesOf(checks.ready)],
      [
        ["a", "c"],
        ["b", "d"],
      ],
    );
  }
  assert.deepEqual([namesOf(checks.live), namesOf(checks.ready)], [["a"], ["b", "start"]]);
});
