import assert from "node:assert/strict";
import { test } from "node:test";
import { adminKube } from "../testing/cluster.ts";
import { mayDo, missingRights } from "./access-review.ts";

const read = { verb: "get", resource: "secrets", group: "", namespace: "default", name: "a" };

test("asks about somebody's rights, not about our own; a fenced client may ask", async () => {
  const kube = (await adminKube()).fencedBy(() => false);
  assert.equal((await mayDo(kube, { username: "nobody" }, read)).allowed, false);
  assert.equal((await mayDo(kube, { username: "somebody", groups: ["system:masters"] }, read)).allowed, true);
});

test("missing rights come in the order they were asked for", async () => {
  const kube = await adminKube();
  const wanted = Array.from({ length: 20 }, (_, index) => ({ ...read, name: `s${index}` }));
  assert.deepEqual(await missingRights(kube, { username: "nobody" }, wanted), wanted);
  assert.deepEqual(await missingRights(kube, { username: "root", groups: ["system:masters"] }, wanted), []);
});
