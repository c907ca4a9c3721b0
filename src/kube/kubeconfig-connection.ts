import { readFile } from "node:fs/promises";
import type { Connection, Impersonation } from "./connection.ts";
import {
  type Credentials,
  type ExecPlugin,
  execCredentials,
  fixedCredentials,
  tokenFileCredentials,
} from "./credentials.ts";
import { isRecord, stringOf } from "./json.ts";
import { KubeconfigError, type KubeconfigFile } from "./kubeconfig-file.ts";

type Fields = Readonly<Record<string, unknown>>;

/** How far the writer of a kubeconfig is trusted. */
export interface Trust {
  /** Paths of certificates and tokens. */
  readonly allowFiles: boolean;
  /** Credential plugins: programs of its choice. */
  readonly allowExec: boolean;
  /** `insecure-skip-tls-verify`. */
  readonly allowInsecure?: boolean | undefined;
}

const proxyProtocols = ["http:", "https:", "socks5:"];

/** The connection of one context, by default the current one. Reads the files it names. */
export async function connectionOf(
  file: KubeconfigFile,
  contextName: string | undefined,
  trust: Trust,
): Promise<Connection> {
  const name = contextName ?? file.currentContext;
  if (!name) throw new KubeconfigError("the kubeconfig has no current-context");
  const context = entryOf(file.contexts, "context", name);
  const clusterName = stringOf(context.cluster) ?? "";
  const cluster = entryOf(file.clusters, "cluster", clusterName);
  const userName = stringOf(context.user) ?? "";
  const user = userName ? entryOf(file.users, "user", userName) : {};
  for (const [where, fields] of [
    [`cluster ${clusterName}`, cluster],
    [`user ${userName}`, user],
  ] as const) {
    refuseUntrusted(where, fields, trust);
    refuseOtherThanText(where, fields);
  }

  const ca = await pemOf(cluster, "certificate-authority", `cluster ${clusterName}`);
  const cert = await pemOf(user, "client-certificate", `user ${userName}`);
  const key = await pemOf(user, "client-key", `user ${userName}`);
  if ((cert === undefined) !== (key === undefined)) {
    throw new KubeconfigError(`user ${userName}: client-certificate and client-key go together`);
  }
  const credentials = credentialsOf(user, `user ${userName}`, cluster);
  return {
    server: serverOf(cluster, clusterName),
    tls: {
      ca,
      cert,
      key,
      serverName: stringOf(cluster["tls-server-name"]),
      insecure: cluster["insecure-skip-tls-verify"] === true,
    },
    authorization: credentials.authorization,
    clientCertificate: credentials.clientCertificate,
    renewCredentials: credentials.renew,
    proxyUrl: proxyOf(cluster, clusterName),
    impersonate: impersonationOf(user),
  };
}

function entryOf(entries: ReadonlyMap<string, Fields>, what: string, name: string): Fields {
  const entry = entries.get(name);
  if (!entry) throw new KubeconfigError(`the kubeconfig has no ${what} named ${JSON.stringify(name)}`);
  return entry;
}

function refuseUntrusted(where: string, fields: Fields, { allowFiles, allowExec, allowInsecure }: Trust): void {
  const refused = [
    "auth-provider",
    ...(allowExec ? [] : ["exec"]),
    ...(allowFiles ? [] : ["certificate-authority", "client-certificate", "client-key", "tokenFile"]),
    ...(allowInsecure ? [] : ["insecure-skip-tls-verify"]),
  ];
  const found = refused.find((field) => fields[field]);
  if (found) throw new KubeconfigError(`${where}: ${found} is refused`);
}

const texts = [
  ...["server", "tls-server-name", "proxy-url", "token", "tokenFile", "username", "password", "as", "as-uid"],
  ...["certificate-authority", "client-certificate", "client-key"].flatMap((name) => [name, `${name}-data`]),
];

/** A password of digits without quotes is a number to YAML: left out, we would come as somebody else. */
function refuseOtherThanText(where: string, fields: Fields): void {
  const odd = texts.find((field) => fields[field] !== undefined && fields[field] !== null && !isText(fields[field]));
  if (odd) throw new KubeconfigError(`${where}: ${odd} is not a text`);
}

const isText = (value: unknown): boolean => typeof value === "string";

function serverOf(cluster: Fields, name: string): string {
  const server = stringOf(cluster.server) ?? "";
  if (!URL.canParse(server) || !/^https?:/i.test(server)) {
    throw new KubeconfigError(`cluster ${name}: server is not an http(s) URL`);
  }
  return server;
}

function proxyOf(cluster: Fields, name: string): string | undefined {
  const proxy = stringOf(cluster["proxy-url"]);
  if (!proxy) return undefined;
  if (!URL.canParse(proxy) || !proxyProtocols.includes(new URL(proxy).protocol)) {
    throw new KubeconfigError(`cluster ${name}: proxy-url must be an http, https or socks5 URL`);
  }
  const { username, password } = new URL(proxy);
  if (![username, password].every(isDecodable)) {
    throw new KubeconfigError(`cluster ${name}: proxy-url has a % that stands for nothing in its user or password`);
  }
  return proxy;
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** Inline data comes before a file. */
async function pemOf(fields: Fields, field: string, where: string): Promise<string | undefined> {
  const data = stringOf(fields[`${field}-data`]);
  if (data) return checkedPem(Buffer.from(data, "base64").toString(), `${where}: ${field}-data`);
  const path = stringOf(fields[field]);
  return path ? checkedPem(await readNamed(path, `${where}: ${field}`), `${where}: ${field}`) : undefined;
}

async function readNamed(path: string, where: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new KubeconfigError(`${where} cannot be read`, { cause });
  }
}

function checkedPem(pem: string, where: string): string {
  if (!pem.includes("-----BEGIN ")) throw new KubeconfigError(`${where} holds no PEM`);
  return pem;
}

function credentialsOf(user: Fields, where: string, cluster: Fields): Credentials {
  const tokenFile = stringOf(user.tokenFile);
  if (tokenFile) return tokenFileCredentials(tokenFile);
  const token = stringOf(user.token);
  if (token) return fixedCredentials(`Bearer ${checkedToken(token.trim(), where)}`);
  const username = stringOf(user.username);
  if (username) return fixedCredentials(basicOf(username, stringOf(user.password) ?? ""));
  return isRecord(user.exec) ? execCredentials(pluginOf(user.exec, where, cluster)) : fixedCredentials(undefined);
}

/** A line break inside would end the header. */
function checkedToken(token: string, where: string): string {
  if (!/^[\x21-\x7e]+$/.test(token)) throw new KubeconfigError(`${where}: token has characters that no token has`);
  return token;
}

function basicOf(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}

function pluginOf(exec: Fields, where: string, cluster: Fields): ExecPlugin {
  const command = stringOf(exec.command);
  if (!command) throw new KubeconfigError(`${where}: exec has no command`);
  const env = Array.isArray(exec.env) ? exec.env.filter(isRecord) : [];
  return {
    apiVersion: stringOf(exec.apiVersion) ?? "",
    command,
    args: Array.isArray(exec.args) ? exec.args.map(String) : [],
    env: Object.fromEntries(env.map(({ name, value }) => [String(name), String(value)])),
    cluster: exec.provideClusterInfo === true ? cluster : undefined,
  };
}

function impersonationOf(user: Fields): Impersonation | undefined {
  const name = stringOf(user.as);
  if (!name) return undefined;
  const extra = isRecord(user["as-user-extra"]) ? user["as-user-extra"] : {};
  return {
    user: name,
    uid: stringOf(user["as-uid"]),
    groups: stringsOf(user["as-groups"]),
    extra: Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, stringsOf(values)])),
  };
}

function stringsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
