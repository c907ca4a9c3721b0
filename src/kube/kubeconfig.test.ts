import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { type TestContext, test } from "node:test";
import { connectionOfKubeconfig, loadConnection } from "./kubeconfig.ts";
import { inClusterConnection } from "./service-account.ts";

const pem = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";
const pemData = Buffer.from(pem).toString("base64");

/** A kubeconfig with one context, cluster and user of that name. */
function kubeconfig({
  name = "a",
  cluster = {},
  user = {},
  context = {},
}: Record<string, unknown> & { name?: string }) {
  const server = `https://${name}.example:6443`;
  return JSON.stringify({
    "current-context": name,
    contexts: [{ name, context: { cluster: name, user: name, ...(context as object) } }],
    clusters: [{ name, cluster: { server, ...(cluster as object) } }],
    users: [{ name, user }],
  });
}

async function directory(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "latchkey-kubeconfig-"));
  t.after(() => rm(dir, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(dir, name, ".."), { recursive: true });
    await writeFile(join(dir, name), text);
  }
  return dir;
}

const distrust = { allowFiles: false, allowExec: false };

test("inline data, token, server name, proxy, impersonation and namespace are read", async () => {
  const text = kubeconfig({
    cluster: { "certificate-authority-data": pemData, "tls-server-name": "k", "proxy-url": "http://proxy:3128" },
    user: {
      token: "hunter2",
      "client-certificate-data": pemData,
      "client-key-data": pemData,
      as: "joe",
      "as-groups": ["g"],
      "as-user-extra": { scope: ["x"] },
    },
  });
  const connection = await connectionOfKubeconfig(text, distrust);
  assert.equal(connection.server, "https://a.example:6443");
  assert.deepEqual(connection.tls, { ca: pem, cert: pem, key: pem, serverName: "k", insecure: false });
  assert.equal(await connection.authorization(), "Bearer hunter2");
  assert.equal(connection.proxyUrl, "http://proxy:3128");
  assert.deepEqual(connection.impersonate, { user: "joe", uid: undefined, groups: ["g"], extra: { scope: ["x"] } });
});

test("name and password become a Basic header", async () => {
  const text = kubeconfig({ user: { username: "joe", password: "hunter2" } });
  const { authorization } = await connectionOfKubeconfig(text, distrust);
  assert.equal(await authorization(), `Basic ${Buffer.from("joe:hunter2").toString("base64")}`);
});

const refused = [
  { entry: "exec", user: { exec: { command: "x" } } },
  { entry: "auth-provider", user: { "auth-provider": { name: "gcp" } } },
  { entry: "tokenFile", user: { tokenFile: "/etc/passwd" } },
  { entry: "client-certificate", user: { "client-certificate": "/etc/passwd" } },
  { entry: "client-key", user: { "client-key": "/etc/passwd" } },
  { entry: "certificate-authority", cluster: { "certificate-authority": "/etc/passwd" } },
  { entry: "insecure-skip-tls-verify", cluster: { "insecure-skip-tls-verify": true } },
];
for (const { entry, ...parts } of refused) {
  test(`a kubeconfig that is data: ${entry} is refused by name`, async () => {
    const opened = connectionOfKubeconfig(kubeconfig(parts), distrust);
    await assert.rejects(opened, { name: "KubeconfigError", message: new RegExp(`a: ${entry} is refused$`) });
  });
}

const broken = [
  { name: "no YAML", text: "hunter2: [", says: /not valid YAML/ },
  { name: "no mapping", text: "hunter2", says: /not a YAML mapping/ },
  { name: "an alias of nothing", text: "current-context: *hunter2", says: /not valid YAML/ },
  { name: "no current context", text: "contexts: []", says: /no current-context/ },
  { name: "unknown context", text: "current-context: x", says: /no context named "x"/ },
  { name: "server is no URL", text: kubeconfig({ cluster: { server: "hunter2" } }), says: /server is not/ },
  {
    name: "certificate is no PEM",
    text: kubeconfig({ user: { "client-certificate-data": "aHVudGVyMg==" } }),
    says: /PEM/,
  },
  {
    name: "certificate without key",
    text: kubeconfig({ user: { "client-certificate-data": pemData } }),
    says: /together/,
  },
  {
    name: "proxy of an unknown kind",
    text: kubeconfig({ cluster: { "proxy-url": "ftp://hunter2" } }),
    says: /proxy-url/,
  },
  {
    name: "proxy whose password cannot be decoded",
    text: kubeconfig({ cluster: { "proxy-url": "http://joe:hunter2%s@localhost:1" } }),
    says: /proxy-url has a %/,
  },
  { name: "token that is a number", text: kubeconfig({ user: { token: 123456 } }), says: /a: token is not a text$/ },
  {
    name: "password that is a number",
    text: kubeconfig({ user: { username: "joe", password: 123456 } }),
    says: /a: password is not a text$/,
  },
  { name: "token over two lines", text: kubeconfig({ user: { token: "hunter2\nx" } }), says: /token has characters/ },
];
test("what the YAML library has to warn of is kept to itself: it would quote the text", async (t) => {
  const warn = t.mock.method(process, "emitWarning", () => {});
  await assert.rejects(connectionOfKubeconfig("users: [{ name: a, user: { token: {{hunter2}} } }]", distrust));
  assert.equal(warn.mock.callCount(), 0);
});

for (const { name, text, says } of broken) {
  test(`a broken kubeconfig is named and not quoted: ${name}`, async () => {
    await assert.rejects(connectionOfKubeconfig(text, distrust), (error: Error) => {
      assert.match(error.message, says);
      assert.doesNotMatch(error.message, /hunter2/);
      return true;
    });
  });
}

test("paths are relative to the file they are in", async (t) => {
  const text = kubeconfig({ cluster: { "certificate-authority": "pki/ca.crt" }, user: { tokenFile: "pki/token" } });
  const dir = await directory(t, { config: text, "pki/ca.crt": pem, "pki/token": "hunter2\n" });
  const { tls, authorization } = await loadConnection({ kubeconfig: join(dir, "config"), env: {} });
  assert.equal(tls.ca, pem);
  assert.equal(await authorization(), "Bearer hunter2");
});

test("KUBECONFIG lists files: the first that has a name wins, missing files are skipped", async (t) => {
  const dir = await directory(t, {
    first: kubeconfig({ name: "a", cluster: { server: "https://first" } }),
    second: JSON.stringify({
      ...JSON.parse(kubeconfig({ name: "b" })),
      clusters: ["a", "b"].map((name) => ({ name, cluster: { server: `https://second-${name}` } })),
    }),
  });
  const env = { KUBECONFIG: ["missing", "first", "second"].map((name) => join(dir, name)).join(delimiter) };
  assert.equal((await loadConnection({ env })).server, "https://first");
  assert.equal((await loadConnection({ context: "b", env })).server, "https://second-b");
});

test("without KUBECONFIG it is the one in the home directory; a missing one is named", async (t) => {
  const dir = await directory(t, { ".kube/config": kubeconfig({}) });
  assert.equal((await loadConnection({ env: { HOME: dir } })).server, "https://a.example:6443");
  await assert.rejects(loadConnection({ env: { HOME: join(dir, "x") } }), /no kubeconfig found: .*x\/\.kube\/config/);
  await assert.rejects(loadConnection({ kubeconfig: join(dir, "x"), env: { HOME: dir } }), /cannot be read/);
});

test("in a Pod: the service account's files", async (t) => {
  const dir = await directory(t, { "ca.crt": pem, token: "hunter2" });
  const env = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "6443" };
  const connection = await inClusterConnection(env, dir);
  assert.equal(connection?.server, "https://[fd00::1]:6443");
  assert.equal(await connection?.authorization(), "Bearer hunter2");
  assert.equal(await inClusterConnection({}, dir), undefined);
  assert.equal(await inClusterConnection(env, join(dir, "none")), undefined, "no service account is mounted");
});
