import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type ControlPlane, startControlPlane } from "./control-plane.ts";
import { ask, askJson } from "./http.ts";

interface Groups {
  readonly resources: readonly { readonly name: string }[];
}

test("the API server can be killed, started and paused, and keeps its data", async () => {
  await using plane = await startControlPlane({ registry: true });
  const { apiserver, etcd, registry } = plane.components;
  await askJson(`${plane.server}/api/v1/namespaces`, plane.admin, {
    method: "POST",
    body: { metadata: { name: "kept" } },
  });

  await apiserver.kill();
  assert.equal(apiserver.isRunning, false);
  await assert.rejects(ask(`${plane.server}/readyz`, plane.admin), { code: "ECONNREFUSED" });
  await apiserver.start();
  await etcd.restart();
  await apiserver.restart();
  assert.equal(await statusOf(plane, "/api/v1/namespaces/kept"), 200);

  apiserver.pause();
  const answer = ask(`${plane.server}/version`, plane.admin);
  const first = await Promise.race([answer.then(() => "answered"), sleep(500, "silent")]);
  assert.equal(first, "silent");
  apiserver.resume();
  assert.equal((await answer).status, 200);

  assert.equal((await ask(`${plane.registry}/v2/`)).status, 200);
  assert.equal(registry?.isRunning, true);
});

test("an older Kubernetes is emulated", async () => {
  await using plane = await startControlPlane({ emulatedVersion: "1.33" });
  const { resources } = await askJson<Groups>(`${plane.server}/apis/admissionregistration.k8s.io/v1`, plane.admin);
  const names = resources.map((resource) => resource.name);
  assert.equal(names.includes("validatingadmissionpolicies"), true);
  assert.equal(names.includes("mutatingadmissionpolicies"), false);
});

test("a server that does not come up is an error with the end of its log, and nothing is left running", async () => {
  const starting = startControlPlane({ featureGates: { NoSuchGate: true } });
  await assert.rejects(starting, /kube-apiserver ended.*NoSuchGate/s);
});

test("no server outlives the process that started it, even when that is killed", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "latchkey-orphans-"));
  t.after(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }));
  const parent = fork(join(import.meta.dirname, "testing", "plane.ts"), [dir], { stdio: "inherit" });
  t.after(() => parent.kill("SIGKILL"));
  const [pids] = (await once(parent, "message")) as [number[]];
  assert.equal(pids.length, 3);
  assert.ok(pids.every(isAlive));

  parent.kill("SIGKILL");
  while (pids.some(isAlive)) await sleep(50); // the time-out of the test run is the judge of "never"
});

async function statusOf(plane: ControlPlane, path: string): Promise<number> {
  return (await ask(`${plane.server}${path}`, plane.admin)).status;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
