import assert from "node:assert/strict";
import { test } from "node:test";
import { addedPullSecretsAnnotation } from "../../../api/marks.ts";
import { type AccountRecord, accountOperations, addedTo, planAccount } from "./account-plan.ts";

interface Given {
  readonly list?: readonly (string | undefined)[];
  /** The text of our annotation. */
  readonly added?: string;
}

function account({ list = [], added }: Given): AccountRecord {
  return {
    metadata: {
      ...{ namespace: "app", name: "default", uid: "u", resourceVersion: "7", creationTimestamp: "" },
      ...(added !== undefined && { annotations: { [addedPullSecretsAnnotation]: added } }),
    },
    imagePullSecrets: list.map((name) => (name === undefined ? {} : { name })),
  };
}

interface Case extends Given {
  readonly name: string;
  readonly wanted: readonly string[];
  /** Undefined: nothing to do. */
  readonly becomes?: readonly (string | undefined)[];
  readonly ours?: readonly string[];
}

const cases: readonly Case[] = [
  { name: "nothing there, nothing wanted", wanted: [] },
  { name: "ours come, in order", wanted: ["b", "a"], becomes: ["b", "a"], ours: ["b", "a"] },
  { name: "after those of others", list: ["x", "y"], wanted: ["a"], becomes: ["x", "y", "a"], ours: ["a"] },
  { name: "what others have is theirs", list: ["a", "x"], wanted: ["a", "b"], becomes: ["a", "x", "b"], ours: ["b"] },
  { name: "all of it is there and theirs", list: ["b", "a"], wanted: ["a", "b"] },
  { name: "all is as it should be", list: ["x", "a", "b"], added: "a,b", wanted: ["a", "b"] },
  { name: "a reference less", list: ["x", "a", "b"], added: "a,b", wanted: ["b"], becomes: ["x", "b"], ours: ["b"] },
  { name: "none left", list: ["x", "a"], added: "a", wanted: [], becomes: ["x"], ours: [] },
  { name: "another order", list: ["a", "b"], added: "a,b", wanted: ["b", "a"], becomes: ["b", "a"], ours: ["b", "a"] },
  { name: "taken out by others", list: ["x"], added: "a", wanted: ["a"], becomes: ["x", "a"], ours: ["a"] },
  { name: "theirs came after ours", list: ["a", "x"], added: "a", wanted: ["a"], becomes: ["x", "a"], ours: ["a"] },
  { name: "ours twice", list: ["a", "a"], added: "a", wanted: ["a"], becomes: ["a"], ours: ["a"] },
  {
    name: "theirs twice, and without a name",
    list: ["x", undefined, "x"],
    wanted: ["a"],
    becomes: ["x", undefined, "x", "a"],
    ours: ["a"],
  },
  { name: "names that are none, or wanted twice", wanted: ["", "a", "", "a"], becomes: ["a"], ours: ["a"] },
  { name: "our mark was taken away: it is theirs now", list: ["a"], wanted: ["a"] },
  { name: "our mark is empty", list: ["x"], added: "", wanted: [] },
  {
    name: "our mark says more than there is",
    list: ["a"],
    added: "a,gone",
    wanted: ["a"],
    becomes: ["a"],
    ours: ["a"],
  },
];

for (const { name, wanted, becomes, ours = [], ...given } of cases) {
  test(`planAccount: ${name}`, () => {
    const plan = planAccount(account(given), wanted);
    assert.deepEqual(
      plan?.list.map((entry) => entry.name),
      becomes,
    );
    if (!plan) return;
    assert.deepEqual(plan.added, ours);
    const after = account({
      list: plan.list.map((entry) => entry.name),
      ...(ours.length > 0 && { added: ours.join(",") }),
    });
    assert.equal(planAccount(after, wanted), undefined, "a second pass writes nothing");
  });
}

const path = `/metadata/annotations/${addedPullSecretsAnnotation.replace("/", "~1")}`;
const guard = { op: "replace", path: "/metadata/resourceVersion", value: "7" };
const list = { op: "add", path: "/imagePullSecrets", value: [{ name: "a" }] };

test("accountOperations: the write is guarded, and marks what is ours", () => {
  const plan = { list: [{ name: "a" }], added: ["a"] };
  assert.deepEqual(accountOperations(account({}), plan, { hasAnnotations: true }), [
    guard,
    list,
    { op: "add", path, value: "a" },
  ]);
  assert.deepEqual(accountOperations(account({}), plan, { hasAnnotations: false }), [
    guard,
    list,
    { op: "add", path: "/metadata/annotations", value: { [addedPullSecretsAnnotation]: "a" } },
  ]);
});

test("accountOperations: a mark that says nothing goes, and none is made", () => {
  const plan = { list: [{ name: "a" }], added: [] };
  const marked = account({ list: ["a", "b"], added: "b" });
  assert.deepEqual(accountOperations(marked, plan, { hasAnnotations: true }), [guard, list, { op: "remove", path }]);
  assert.deepEqual(accountOperations(account({}), plan, { hasAnnotations: false }), [guard, list]);
});

test("addedTo: what the annotation lists", () => {
  assert.deepEqual(addedTo(account({})), []);
  assert.deepEqual(addedTo(account({ added: "" })), []);
  assert.deepEqual(addedTo(account({ added: "a,b" })), ["a", "b"]);
});
