import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { kubectl, testNamespaces } from "../../src/testing/cluster.ts";

interface Pod {
  readonly metadata: { readonly name: string };
  readonly status: {
    readonly containerStatuses: readonly {
      readonly image: string;
      readonly imageID: string;
      readonly restartCount: number;
    }[];
  };
}

test("a Deployment rolls out on the nodes", async (t) => {
  const { run } = await scene(t);
  await run("create", "deployment", "web", "--image=web:1", "--replicas=3");
  await run("rollout", "status", "deployment/web", "--timeout=300s");
});

test("a Pod's image changed in place restarts its container with another image", async (t) => {
  const { run } = await scene(t);
  await run("run", "web", "--image=web:1");
  await run("wait", "pod/web", "--for=condition=Ready", "--timeout=300s");
  const before = JSON.parse(await run("get", "pod", "web", "-o", "json")) as Pod;
  await run("set", "image", "pod/web", "web=web:2");
  await run("wait", "pod/web", "--for=jsonpath={.status.containerStatuses[0].image}=web:2", "--timeout=300s");

  const after = JSON.parse(await run("get", "pod", "web", "-o", "json")) as Pod;
  assert.equal(after.status.containerStatuses[0]?.restartCount, 1);
  assert.notEqual(after.status.containerStatuses[0]?.imageID, before.status.containerStatuses[0]?.imageID);
});

test("a Job completes, and a Pod with init containers runs", async (t) => {
  const { run } = await scene(t);
  await run("create", "job", "once", "--image=job:1");
  await run("wait", "job/once", "--for=condition=Complete", "--timeout=300s");
  const spec = { initContainers: [{ name: "first", image: "init:1" }], containers: [{ name: "web", image: "web:1" }] };
  await run("run", "two", "--image=web:1", `--overrides=${JSON.stringify({ spec })}`);
  await run("wait", "pod/two", "--for=condition=Ready", "--timeout=300s");
  const reason = "jsonpath={.status.initContainerStatuses[0].state.terminated.reason}";
  assert.equal(await run("get", "pod", "two", "-o", reason), "Completed");
});

async function scene(t: TestContext): Promise<{ run(...args: string[]): Promise<string> }> {
  const { namespaces } = await testNamespaces(t, 1);
  // A Pod needs the ServiceAccount, which a new namespace gets a moment after it was made.
  const waiting = ["wait", "serviceaccount/default", "--for=create", "--timeout=300s"];
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await kubectl(["--namespace", namespaces[0], ...args]);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  await run(...waiting);
  return { run };
}
