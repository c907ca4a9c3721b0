import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import type { ClientCertificate } from "./connection.ts";
import { isRecord, parseJsonOrUndefined, stringOf } from "./json.ts";

/** Who we are to an API server, where that can change while we run. */
export interface Credentials {
  authorization(): Promise<string | undefined>;
  clientCertificate?(): Promise<ClientCertificate | undefined>;
  /** After a 401: forgets what is kept. False where asking again cannot give anything else. */
  renew?(): boolean;
}

export interface ExecPlugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Given to the plugin when it asks for it (`provideClusterInfo`). */
  readonly cluster?: Readonly<Record<string, unknown>> | undefined;
}

interface Issued {
  readonly authorization: string | undefined;
  readonly certificate: ClientCertificate | undefined;
  readonly expiresAtMs: number;
}

const run = promisify(execFile);
const execApiVersions = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];
const execTimeoutMs = 60_000;
const tokenFileMaxAgeMs = 60_000;
/** Renewed a little before it ends: a request takes time too. */
const expiryMarginMs = 10_000;

export function fixedCredentials(authorization: string | undefined): Credentials {
  return { authorization: async () => authorization };
}

/** The kubelet renews token files in place: read again at most once a minute. */
export function tokenFileCredentials(path: string, now: () => number = Date.now): Credentials {
  const kept = keepUntil(async () => {
    const token = (await readFile(path, "utf8")).trim();
    if (!token) throw new Error(`token file ${path} is empty`);
    return { value: `Bearer ${token}`, untilMs: now() + tokenFileMaxAgeMs };
  }, now);
  return { authorization: kept.get, renew: kept.forget };
}

export function execCredentials(plugin: ExecPlugin, now: () => number = Date.now): Credentials {
  if (!execApiVersions.includes(plugin.apiVersion)) {
    throw new Error(
      `exec credential plugin ${plugin.command}: apiVersion must be one of ${execApiVersions.join(", ")}`,
    );
  }
  const kept = keepUntil(async () => {
    const issued = await runPlugin(plugin);
    return { value: issued, untilMs: issued.expiresAtMs - expiryMarginMs };
  }, now);
  return {
    authorization: async () => (await kept.get()).authorization,
    clientCertificate: async () => (await kept.get()).certificate,
    renew: kept.forget,
  };
}

async function runPlugin(plugin: ExecPlugin): Promise<Issued> {
  const { apiVersion, command, args, env, cluster } = plugin;
  const info = { apiVersion, kind: "ExecCredential", spec: { interactive: false, ...(cluster && { cluster }) } };
  // What the plugin prints may be a credential: neither its output nor node's error, which quotes it, is passed on.
  const printed = await run(command, [...args], {
    env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
    timeout: execTimeoutMs,
  }).catch((error: { code?: unknown }) => {
    throw new Error(`exec credential plugin ${command} failed (${String(error.code ?? "killed")})`);
  });
  const parsed = parseJsonOrUndefined(printed.stdout);
  if (!isRecord(parsed) || parsed.apiVersion !== apiVersion || !isRecord(parsed.status)) {
    throw new Error(`exec credential plugin ${command} printed no ExecCredential of ${apiVersion}`);
  }
  return issuedOf(command, parsed.status);
}

function issuedOf(command: string, status: Readonly<Record<string, unknown>>): Issued {
  const token = stringOf(status.token);
  const cert = stringOf(status.clientCertificateData);
  const key = stringOf(status.clientKeyData);
  if (!token && !(cert && key)) throw new Error(`exec credential plugin ${command} gave neither token nor certificate`);
  const expiry = Date.parse(stringOf(status.expirationTimestamp) ?? "");
  return {
    authorization: token && `Bearer ${token}`,
    certificate: cert && key ? { cert, key } : undefined,
    expiresAtMs: Number.isNaN(expiry) ? Number.POSITIVE_INFINITY : expiry,
  };
}

/** Those who ask at the same time share one answer; a failure is not kept. */
function keepUntil<T>(fetch: () => Promise<{ value: T; untilMs: number }>, now: () => number) {
  let kept: { readonly value: T; readonly untilMs: number } | undefined;
  let asking: Promise<T> | undefined;

  const ask = async (): Promise<T> => {
    try {
      kept = await fetch();
      return kept.value;
    } finally {
      asking = undefined;
    }
  };
  return {
    get: async (): Promise<T> => {
      if (kept && now() < kept.untilMs) return kept.value;
      asking ??= ask();
      return await asking;
    },
    forget: (): boolean => {
      kept = undefined;
      return true;
    },
  };
}
