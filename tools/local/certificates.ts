import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { issueCa, issueLeaf, type KeyPair } from "../../src/kube/x509.ts";

export interface Certificates {
  readonly caFile: string;
  readonly ca: string;
  readonly serverCertFile: string;
  readonly serverKeyFile: string;
  readonly serviceAccountKeyFile: string;
  readonly serviceAccountPublicFile: string;
  readonly admin: KeyPair;
  readonly controllerManager: KeyPair;
  readonly scheduler: KeyPair;
  readonly kwok: KeyPair;
}

const days = 365;
const serverNames = [
  "localhost",
  "kubernetes",
  "kubernetes.default",
  "kubernetes.default.svc",
  "kubernetes.default.svc.cluster.local",
];

/** Makes all keys and certificates of one control plane. */
export async function makeCertificates(dir: string): Promise<Certificates> {
  const ca = await issueCa({ commonName: "latchkey-local", days });
  const client = (commonName: string, organization?: string) =>
    issueLeaf(ca, { commonName, ...(organization ? { organization } : {}), usages: ["client"], days });
  const [server, admin, controllerManager, scheduler, kwok] = await Promise.all([
    issueLeaf(ca, {
      commonName: "kube-apiserver",
      dnsNames: serverNames,
      ips: ["127.0.0.1", "10.0.0.1"],
      usages: ["server"],
      days,
    }),
    client("admin", "system:masters"),
    client("system:kube-controller-manager"),
    client("system:kube-scheduler"),
    client("kwok", "system:masters"), // a name of its own: audit logs tell it from the admin
  ]);
  const serviceAccount = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs1", format: "pem" },
  });
  const write = (name: string, text: string): string => {
    const path = join(dir, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  return {
    ca: ca.certificatePem,
    caFile: write("ca.crt", ca.certificatePem),
    serverCertFile: write("server.crt", server.certificatePem),
    serverKeyFile: write("server.key", server.keyPem),
    serviceAccountKeyFile: write("sa.key", serviceAccount.privateKey),
    serviceAccountPublicFile: write("sa.pub", serviceAccount.publicKey),
    admin,
    controllerManager,
    scheduler,
    kwok,
  };
}

export type Credentials = KeyPair | { readonly token: string };

export function kubeconfigOf(server: string, ca: string, user: string, credentials: Credentials): string {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const secret =
    "token" in credentials
      ? { token: credentials.token }
      : {
          "client-certificate-data": base64(credentials.certificatePem),
          "client-key-data": base64(credentials.keyPem),
        };
  return stringify(
    {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "local", cluster: { server, "certificate-authority-data": base64(ca) } }],
      users: [{ name: user, user: secret }],
      contexts: [{ name: "local", context: { cluster: "local", user } }],
      "current-context": "local",
    },
    { lineWidth: 0 },
  );
}
