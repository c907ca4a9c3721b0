import assert from "node:assert/strict";
import { test } from "node:test";
import { issueCa } from "../../src/kube/x509.ts";
import {
  type Connected,
  connectCluster,
  kubeconfigLike,
  type Listener,
  rudeServer,
  untilMetric,
  writeKubeconfig,
} from "../../src/testing/connections.ts";
import { base64 } from "../../src/testing/objects.ts";
import { untilEvent } from "../../src/testing/served-clusters.ts";
import { untilCluster } from "../../src/testing/user-clusters.ts";
import { conditionIn } from "../../src/testing/wait.ts";
import { kubeconfigOf } from "../../tools/local/certificates.ts";

/** Looks like PEM and is none; the middle must not be told to anybody. */
const garbage = base64("-----BEGIN CERTIFICATE-----\naHVudGVyMg==\n-----END CERTIFICATE-----\n");
const ca = await issueCa({ commonName: "test", days: 1 });
const certificate = base64(ca.certificatePem);

/** A kubeconfig that could be used, and leads to somebody who would count us. */
const usable = ({ port }: Listener) =>
  kubeconfigOf(`https://127.0.0.1:${port}`, ca.certificatePem, "somebody", { token: "hunter2" });

const user = (fields: object) => (text: string) => kubeconfigLike(text, { user: { token: undefined, ...fields } });
const cluster = (fields: object) => (text: string) =>
  kubeconfigLike(text, { cluster: { "certificate-authority-data": undefined, ...fields } });
const whole = (fields: object) => (text: string) => kubeconfigLike(text, { whole: { ...fields } });

const refused: readonly [entry: string, change: (text: string) => string, says: RegExp][] = [
  ["exec", user({ exec: { apiVersion: "client.authentication.k8s.io/v1", command: "true" } }), /exec is refused/],
  ["auth-provider", user({ "auth-provider": { name: "gcp" } }), /auth-provider is refused/],
  ["tokenFile", user({ tokenFile: "/etc/hostname" }), /tokenFile is refused/],
  ["client-certificate", user({ "client-certificate": "/etc/hostname" }), /client-certificate is refused/],
  ["client-key", user({ "client-key": "/etc/hostname" }), /client-key is refused/],
  ["certificate-authority", cluster({ "certificate-authority": "/etc/hostname" }), /certificate-authority is refused/],
  ["insecure-skip-tls-verify", cluster({ "insecure-skip-tls-verify": true }), /insecure-skip-tls-verify is refused/],
  ["text that is no YAML", () => "hunter2: [", /not valid YAML/],
  ["text that is no kubeconfig", () => "hunter2", /not a YAML mapping/],
  ["nothing at all", () => "", /not a YAML mapping/],
  ["no current context", whole({ "current-context": "" }), /no current-context/],
  ["a current context that is not there", whole({ "current-context": "other" }), /no context named "other"/],
  [
    "an authority that is no PEM",
    cluster({ "certificate-authority-data": base64("hunter2") }),
    /authority-data holds no PEM/,
  ],
  [
    "an authority that is garbage",
    cluster({ "certificate-authority-data": garbage }),
    /certificate-authority-data cannot be read/,
  ],
  [
    "a certificate that is garbage",
    user({ "client-certificate-data": garbage, "client-key-data": garbage }),
    /client-certificate-data cannot be read/,
  ],
  [
    "a key that is garbage",
    user({ "client-certificate-data": certificate, "client-key-data": garbage }),
    /client-key-data cannot be read/,
  ],
  ["a certificate without its key", user({ "client-certificate-data": certificate }), /go together/],
  ["a server that is no URL", cluster({ server: "hunter2" }), /server is not an http\(s\) URL/],
  ["a proxy of an unknown kind", cluster({ "proxy-url": "ftp://hunter2.example" }), /proxy-url must be/],
];

test("a kubeconfig that reaches beyond its own data is refused by name, before any connection", async (t) => {
  const server = await rudeServer(t);
  const serving: Connected = await connectCluster(t, "");
  const { kube, name, kubeconfig, events } = serving;

  for (const [entry, change, says] of refused) {
    await t.test(entry, async () => {
      await writeKubeconfig(kube, kubeconfig, change(usable(server)));
      const told = await untilCluster(kube, name, "Stalled", {
        status: "True",
        reason: "KubeconfigRefused",
        message: says,
      });
      const reachable = conditionIn(told, "Reachable");
      assert.deepEqual([reachable?.status, reachable?.reason], ["False", "KubeconfigRefused"]);
      assert.match(reachable?.message ?? "", new RegExp(`^Secret ${kubeconfig}: `));
      assert.match(reachable?.message ?? "", says);
      assert.equal(conditionIn(told, "Ready")?.reason, "KubeconfigRefused");
      assert.doesNotMatch(JSON.stringify(told), /hunter2|aHVudGVyMg/);
    });
  }

  await untilEvent(events, "Warning Unreachable");
  assert.equal(events.inShort.length, 1, "it is one situation, however many entries are tried");
  await untilMetric("latchkey_cluster_reachable", { cluster: name }, (value) => value === 0);
  assert.equal(server.connections(), 0);

  await writeKubeconfig(kube, kubeconfig, usable(server));
  const told = await untilCluster(kube, name, "Reachable", { status: "False", reason: "Unreachable" });
  assert.ok(server.connections() > 0, "that one is tried");
  assert.equal(conditionIn(told, "Stalled"), undefined);
});
