import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { parseWish } from "../tools/start.ts";

const root = join(import.meta.dirname, "..");

test("npm start shows copies that arrive, heal, collide and go, a sidecar with its pull secret, a cluster that is served, and leaves nothing behind", async () => {
  // KUBEBUILDER_ASSETS is that of the test run: nothing is built here.
  const env = { ...process.env, KUBECONFIG: undefined };
  const start = [join(root, "tools", "start.ts"), "--once"];
  const { stdout } = await promisify(execFile)(process.execPath, start, { cwd: root, env, timeout: 300_000 });

  const facts = [
    ["three copies arrive", /tour-db-login +tour-vault\/db-login +True +3\/3 +Synced/],
    [
      "one in each namespace",
      /tour-anna +db-login +kubernetes.io\/basic-auth +2 [\s\S]*tour-bert +db-login [\s\S]*tour-carla +db-login/,
    ],
    ["an edit is healed", /password":"edited by hand"[\s\S]*secret\/db-login patched[\s\S]*\n {2}correct horse\n/],
    ["a collision is reported", /tour-mail-login +tour-vault\/mail-login +False +1\/2 +Pending .*Conflict +watch/],
    ["by place and holder", /tour-anna\/mail-login is held by an unmanaged Secret/],
    ["and touches nothing", /\n {2}written by Anna\n/],
    [
      "it settles by itself",
      /tour-mail-login +tour-vault\/mail-login +True +2\/2 +Synced[\s\S]*\n {2}battery staple\n/,
    ],
    [
      "copies go, the source stays",
      /"tour-db-login" deleted[\s\S]*\n {2}NAMESPACE .*\n {2}tour-vault +db-login .*\n\n/,
    ],
    ["a Pod has the sidecar and names the copy", /\n {2}log-shipper,shop +tour-vault-registry-login\n/],
    ["the copy is there", /\n {2}tour-vault-registry-login +kubernetes\.io\/dockerconfigjson +1 /],
    ["the SidecarSet counts it", /tour-log-shipper +1 +1 +0 +1\/1 /],
    ["a revoked credential is gone everywhere", /"registry-login" deleted[\s\S]*No resources found in tour-carla/],
    ["and that is told", /tour-log-shipper +1 +1 +0 +0\/1 +\S+ +True +SourceMissing/],
    ["a cluster is served", /tour-user +True +4\/4 +Cluster +Policy +True /],
    [
      "every namespace of it has a copy",
      /\n {2}default +tour-vault-docker-hub [\s\S]*\n {2}kube-system +tour-vault-docker-hub /,
    ],
    ["its Pods name the copy", /run web [\s\S]*pod\/web created[\s\S]*\n {2}web +tour-vault-docker-hub\n/],
    [
      "also while nobody leads",
      /\n {2}latchkey +\d+s\n[\s\S]*namespace\/late created[\s\S]*\n {2}web +tour-vault-docker-hub\n/,
    ],
    ["what was missed is made up for", /tour-user +True +5\/5 /],
    [
      "and all of it is told",
      /clusters +instead +clusters\.kubermatic\.k8c\.io +stand-in +1 Clusters, 1 Clusters served/,
    ],
    ["metrics", /Metrics: +http:\/\/127\.0\.0\.1:\d+\/metrics/],
  ] as const;
  for (const [fact, words] of facts) assert.match(stdout, words, fact);

  for (const name of ["KUBECONFIG", "USER_CLUSTER", "LIMITED_KUBECONFIG"]) {
    const [, path = ""] = new RegExp(`export ${name}=(\\S+)`).exec(stdout) ?? [];
    assert.notEqual(path, "", `${name} can be pasted`);
    assert.equal(existsSync(path), false, "its control plane is gone");
  }
});

const wishes = [
  { args: [], wish: { kubeconfig: undefined, isOnce: false, wantsHelp: false } },
  { args: ["--once", "--kubeconfig", "a"], wish: { kubeconfig: "a", isOnce: true, wantsHelp: false } },
  { args: ["--help"], wish: { kubeconfig: undefined, isOnce: false, wantsHelp: true } },
] as const;

for (const { args, wish } of wishes) {
  test(`parseWish: ${args.join(" ") || "nothing"}`, () => assert.deepEqual(parseWish(args), wish));
}

for (const args of [["--twice"], ["--kubeconfig"], ["--kubeconfig="], ["up"]]) {
  test(`parseWish: ${args.join(" ")} is refused`, () => assert.equal(typeof parseWish(args), "string"));
}
