import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "../../kube/errors.ts";
import { LeftOut } from "./left-out.ts";
import type { Tally } from "./tally.ts";

const reference = { namespace: "vault", name: "pull", written: "vault", mayBeLocal: false };
const lacking = (...namespaces: readonly string[]): readonly Tally[] => [
  { reference, pods: 0, namespaces: new Set(), lacking: new Map(namespaces.map((name) => [name, `pod-${name}`])) },
];

/** Both names are held everywhere; some namespaces cannot be looked at. */
function world() {
  const broken = new Set<string>();
  const asked: string[] = [];
  const kube = {
    async getMetadata(_resource: unknown, { namespace = "" }: { namespace?: string }) {
      asked.push(namespace);
      if (broken.has(namespace))
        throw new ApiError("unable to transform key", { status: 500, reason: "InternalError" });
      return { metadata: {} };
    },
  } as unknown as Parameters<LeftOut["look"]>[2]["kube"];
  const looking = { kube, pullSecrets: { copyIn: () => undefined } };
  return { broken, asked, looking };
}

test("a namespace that cannot be looked at does not keep the others from being told", async () => {
  const { broken, asked, looking } = world();
  const leftOut = new LeftOut();
  broken.add("bad");
  assert.deepEqual([...(await leftOut.look("u", lacking("bad", "good"), looking))], ["good vault/pull"]);
  assert.ok((leftOut.nextDueMs("u") ?? 0) > 0, "it is looked at again");
  const before = asked.length;
  await leftOut.look("u", lacking("bad", "good"), looking);
  assert.equal(asked.length, before, "but not before its time");

  broken.delete("bad");
  assert.equal(leftOut.retry("bad"), true);
  const found = await leftOut.look("u", lacking("bad", "good"), looking);
  assert.deepEqual([...found].sort(), ["bad vault/pull", "good vault/pull"]);
});

test("what was known of it stays", async () => {
  const { broken, looking } = world();
  const leftOut = new LeftOut();
  await leftOut.look("u", lacking("team"), looking);
  broken.add("team");
  leftOut.retry("team");
  assert.deepEqual([...(await leftOut.look("u", lacking("team"), looking))], ["team vault/pull"]);
});

test("a pass that is over fails", async () => {
  const { broken, looking } = world();
  broken.add("team");
  const signal = AbortSignal.abort();
  await assert.rejects(new LeftOut().look("u", lacking("team"), { ...looking, signal }));
});
