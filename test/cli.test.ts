import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parseAllDocuments, parse as parseYaml } from "yaml";
import packageJson from "../package.json" with { type: "json" };
import { type Ran, testEnvironment } from "../src/testing/cluster.ts";

const root = join(import.meta.dirname, "..");
const kubeconfig = () => `--kubeconfig=${testEnvironment("LATCHKEY_TEST_KUBECONFIG")}`;

/** The program as it is in src; never throws for a non-zero exit code. */
function latchkey(...args: readonly string[]): Promise<Ran> {
  const env = { PATH: process.env.PATH, HOME: "/nonexistent" };
  return new Promise((resolve) => {
    execFile(process.execPath, [join(root, "src", "main.ts"), ...args], { env }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr });
    });
  });
}

test("version tells ours and Node's", async () => {
  const { code, stdout } = await latchkey("version");
  assert.equal(code, 0);
  assert.equal(stdout, `latchkey ${packageJson.version} (node ${process.versions.node})\n`);
});

const helps = {
  run: [
    "--kubeconfig <path>",
    "--metrics-address <address>",
    "--secretsync auto|instead|beside|off",
    "--sidecars auto|instead|beside|off",
    "--sidecars-idle-copies <duration>",
    "--clusters auto|instead|beside|off",
    "--kubermatic-namespace <name>",
    "--default-pull-secret <namespace>/<name>",
    "--installation-id <id>",
    "(default: :9443)",
  ],
  crds: ["--apply[=on|off]", "--kubeconfig <path>"],
  status: ["-o, --output table|json", "--namespace <name>"],
  uninstall: ["--copies keep|delete", "--crds keep|delete", "--installation-id <id>"],
  version: ["print the version"],
} as const;

for (const [command, words] of Object.entries(helps)) {
  test(`${command} --help is complete and no failure`, async () => {
    const { code, stdout, stderr } = await latchkey(command, "--help");
    assert.equal(code, 0);
    assert.equal(stderr, "");
    assert.ok(stdout.startsWith(`Usage: latchkey ${command}`), stdout);
    for (const word of words) assert.ok(stdout.includes(word), `${word} is missing in:\n${stdout}`);
  });
}

test("the program's own help lists every command", async () => {
  const { code, stdout } = await latchkey("--help");
  assert.equal(code, 0);
  for (const command of Object.keys(helps)) assert.match(stdout, new RegExp(`^  ${command} `, "m"));
});

const mistakes = [
  { args: ["run", "--metrics-adress=:1"], named: ["--metrics-adress"] },
  { args: ["status", "--frobnicate"], named: ["--frobnicate"] },
  { args: ["version", "please"], named: ['"please"'] },
  { args: ["dance"], named: ["dance"] },
  { args: ["run", "--metrics-address"], named: ["--metrics-address: needs a value"] },
  {
    args: [
      "run",
      "--metrics-address=8080",
      "--secretsync=maybe",
      "--log-level=loud",
      "--namespace=A_B",
      "--installation-id=a/b",
      "--sidecars-idle-copies=-1h",
      "--unheard-of=1",
    ],
    named: [
      "--metrics-address",
      "--secretsync",
      "--log-level",
      "--namespace",
      "--installation-id",
      '--sidecars-idle-copies: "-1h" is not a duration',
      "--unheard-of",
    ],
  },
] as const;

for (const { args, named } of mistakes) {
  test(`latchkey ${args.join(" ")} is wrong usage, and every mistake is named`, async () => {
    const { code, stdout, stderr } = await latchkey(...args);
    assert.equal(code, 2, stderr);
    assert.equal(stdout, "");
    for (const name of named) assert.ok(stderr.includes(name), `${name} is not named in:\n${stderr}`);
  });
}

interface Named {
  readonly metadata: { readonly name: string };
}
const byName = (a: Named, b: Named) => a.metadata.name.localeCompare(b.metadata.name);

test("crds prints what deploy/crds holds", async () => {
  const { code, stdout } = await latchkey("crds");
  assert.equal(code, 0);
  const dir = join(root, "deploy", "crds");
  const files = readdirSync(dir).map((name) => parseYaml(readFileSync(join(dir, name), "utf8")) as Named);
  const printed = parseAllDocuments(stdout).map((document) => document.toJS() as Named);
  assert.deepEqual(printed.toSorted(byName), files.toSorted(byName));
});

test("crds --apply may be repeated", async () => {
  const { code, stdout, stderr } = await latchkey("crds", "--apply", kubeconfig());
  assert.equal(code, 0, stderr);
  assert.match(stdout, /secretsyncs\.package-operator\.run applied/);
});

test("status shows a table of what the cluster tells", async () => {
  const { code, stdout, stderr } = await latchkey("status", kubeconfig());
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^CLUSTER +\S+\nNAMESPACE +latchkey-system\nLEADER +\S+/);
  assert.match(
    stdout,
    /secretsync +instead +secretsyncs\.package-operator\.run +stand-in +\d+ SecretSyncs, \d+ copies/,
  );
  assert.match(stdout, /sidecars +instead +sidecarsets\.apps\.kruise\.io +stand-in +\d+ SidecarSets/);
  assert.match(stdout, /^latchkey-secretsync +validating +https:/m);
  assert.match(stdout, /^latchkey-sidecars +mutating +https:/m);
});

test("status -o json has the same for programs", async () => {
  const { code, stdout, stderr } = await latchkey("status", "-o", "json", kubeconfig());
  assert.equal(code, 0, stderr);
  const report = JSON.parse(stdout) as {
    operator: { namespace: string };
    features: readonly { name: string; mode: string; kinds: readonly object[] }[];
    problems: readonly object[];
  };
  assert.equal(report.operator.namespace, "latchkey-system");
  const expected = {
    secretsync: ["secretsyncs.package-operator.run"],
    sidecars: ["sidecarsets.apps.kruise.io"],
    clusters: ["clusters.kubermatic.k8c.io", "kubermaticconfigurations.kubermatic.k8c.io"],
  };
  assert.deepEqual(
    report.features.map(({ name, mode, kinds }) => ({ name, mode, kinds })),
    Object.entries(expected).map(([name, kinds]) => ({
      name,
      mode: "instead",
      kinds: kinds.map((kind) => ({ name: kind, crd: "stand-in" })),
    })),
  );
  assert.ok(Array.isArray(report.problems));
});

test("an API server that is not there is a failure, told in one line", async (t) => {
  const dir = await mkdtemp(join(tmpdir(), "latchkey-cli-"));
  t.after(() => rm(dir, { recursive: true }));
  const path = join(dir, "kubeconfig");
  const config = {
    clusters: [{ name: "c", cluster: { server: `https://127.0.0.1:${await closedPort()}` } }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    users: [{ name: "u", user: { token: "t" } }],
    "current-context": "c",
  };
  await writeFile(path, JSON.stringify(config));
  const { code, stderr } = await latchkey("status", `--kubeconfig=${path}`);
  assert.equal(code, 1);
  assert.match(stderr, /^latchkey: .*127\.0\.0\.1:\d+.*\n$/);
});

test("a kubeconfig that is not there is a failure that names it", async () => {
  const { code, stderr } = await latchkey("status", "--kubeconfig=/nonexistent/kubeconfig");
  assert.equal(code, 1);
  assert.match(stderr, /\/nonexistent\/kubeconfig/);
});

/** Free a moment ago, and nobody else is told of it. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
