import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { cacheDirOf, cachedPathOf, ensureBinaries } from "./binaries.ts";
import { recipeOf } from "./go-modules.ts";

const etcd = recipeOf("etcd");

test("what KUBEBUILDER_ASSETS has is used, whatever its version", async (t) => {
  const { dir, env } = scene(t);
  program(join(dir, "assets", "etcd"), "echo etcd Version: 3.5.0");
  const found = await ensureBinaries(["etcd"], { env: { ...env, KUBEBUILDER_ASSETS: join(dir, "assets") } });
  assert.equal(found.etcd, join(dir, "assets", "etcd"));
});

test("a binary in KUBEBUILDER_ASSETS that does not run is an error that names it", async (t) => {
  const { dir, env } = scene(t);
  const path = program(join(dir, "assets", "etcd"), "exit 1");
  const finding = ensureBinaries(["etcd"], { env: { ...env, KUBEBUILDER_ASSETS: join(dir, "assets") } });
  await assert.rejects(finding, (error: Error) => error.message.includes(path));
});

test("what is missing is built once, also by two at the same time, and then found in the cache", async (t) => {
  const { env, builds } = scene(t, { go: buildsWhatSays(etcd.version) });
  const [one, two] = await Promise.all([ensureBinaries(["etcd"], { env }), ensureBinaries(["etcd"], { env })]);
  const again = await ensureBinaries(["etcd"], { env });
  assert.equal(one.etcd, cachedPathOf(etcd, cacheDirOf(env)));
  assert.equal(two.etcd, one.etcd);
  assert.equal(again.etcd, one.etcd);
  assert.equal(builds().length, 1);
});

test("a cached binary that does not run any more is built again", async (t) => {
  const { env, builds } = scene(t, { go: buildsWhatSays(etcd.version) });
  program(cachedPathOf(etcd, cacheDirOf(env)), "exit 1");
  await ensureBinaries(["etcd"], { env });
  assert.equal(builds().length, 1);
});

test("a build that yields another version is not kept", async (t) => {
  const { env } = scene(t, { go: buildsWhatSays("v0.0.0") });
  await assert.rejects(ensureBinaries(["etcd"], { env }), /etcd was built but does not call itself/);
  assert.deepEqual(leftIn(env), ["etcd.build.log"]);
});

test("a build that fails is reported with the end of its output", async (t) => {
  const { env } = scene(t, { go: `[ "$1" = version ] || { echo no space left on device; exit 1; }` });
  await assert.rejects(ensureBinaries(["etcd"], { env }), /no space left on device/);
  assert.equal(existsSync(cachedPathOf(etcd, cacheDirOf(env))), false);
});

test("an interrupted build leaves nothing that looks finished, and the next one succeeds", async (t) => {
  const { env } = scene(t, { go: `[ "$1" = version ] || { echo half > "$out"; echo building; exec sleep 1000; }` });
  const interrupted = new AbortController();
  const building = ensureBinaries(["etcd"], {
    env,
    signal: interrupted.signal,
    onProgress: (message) => {
      if (message.startsWith("building")) interrupted.abort(new Error("enough"));
    },
  });
  await assert.rejects(building, /enough/);
  assert.equal(existsSync(cachedPathOf(etcd, cacheDirOf(env))), false);

  program(join(env.PATH.split(":")[0] ?? "", "go"), goScript(buildsWhatSays(etcd.version)));
  await ensureBinaries(["etcd"], { env });
  assert.deepEqual(leftIn(env), ["etcd"]);
});

for (const [name, go] of [
  ["without Go", undefined],
  ["with a Go too old", "echo go.mod requires go 1.26; exit 1"],
] as const) {
  test(`${name} the error names three ways out`, async (t) => {
    const { env } = scene(t, go ? { go } : {});
    await assert.rejects(ensureBinaries(["etcd"], { env }), /go\.dev\/dl.*KUBEBUILDER_ASSETS.*--kubeconfig/s);
  });
}

/** Stands for the Go toolchain: `$out` is where the build goes. */
function goScript(body: string): string {
  return `while [ $# -gt 1 ] && [ "$1" != -o ] && [ "$1" != version ]; do shift; done; out=$2\n${body}`;
}

function buildsWhatSays(version: string): string {
  return [
    `[ "$1" = version ] && exit 0`,
    `echo build >> "$BUILDS"`,
    `printf '#!/bin/sh\\necho version %s\\n' ${version} > "$out"`,
    `chmod +x "$out"`,
  ].join("\n");
}

function scene(t: TestContext, { go }: { readonly go?: string } = {}) {
  const dir = mkdtempSync(join(tmpdir(), "latchkey-binaries-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const bin = join(dir, "bin");
  mkdirSync(bin);
  if (go) program(join(bin, "go"), goScript(go));
  // Only what the fake toolchain needs: a real Go elsewhere on the machine must not be found.
  for (const tool of ["chmod", "sleep"]) program(join(bin, tool), `exec /bin/${tool} "$@"`);
  const env = { PATH: bin, XDG_CACHE_HOME: join(dir, "cache"), BUILDS: join(dir, "builds") };
  const builds = () => readFileSync(env.BUILDS, "utf8").trim().split("\n");
  return { dir, env, builds };
}

function program(path: string, body: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

function leftIn(env: { readonly XDG_CACHE_HOME: string }): string[] {
  return readdirSync(dirname(cachedPathOf(etcd, cacheDirOf(env))));
}
