import { type Dispatcher, Pool, ProxyAgent } from "undici";
import type { ClientCertificate, Connection } from "./connection.ts";

/** The API server closes idle connections after 90 s: ours go first. */
const keepAliveTimeout = 60_000;
const callConnections = 32;

/** Connections to one API server. */
export interface Pools {
  /** Bounded, kept alive. */
  readonly calls: Dispatcher;
  /** One connection for each stream, however many there are. */
  readonly streams: Dispatcher;
  /** The certificate from a credential plugin these were opened with. */
  readonly certificate: ClientCertificate | undefined;
}

export function openPools(connection: Connection, certificate: ClientCertificate | undefined): Pools {
  const streams = open(connection, certificate, null);
  return { calls: openCalls(connection, certificate), streams, certificate };
}

export function openCalls(connection: Connection, certificate: ClientCertificate | undefined): Dispatcher {
  return open(connection, certificate, callConnections);
}

function open(
  { server, tls, proxyUrl }: Connection,
  certificate: ClientCertificate | undefined,
  connections: number | null,
): Dispatcher {
  const secured = {
    ca: tls.ca,
    cert: certificate?.cert ?? tls.cert,
    key: certificate?.key ?? tls.key,
    ...(tls.serverName && { servername: tls.serverName }),
    rejectUnauthorized: !tls.insecure,
  };
  const options = {
    connections,
    keepAliveTimeout,
    keepAliveMaxTimeout: keepAliveTimeout,
    // Deadlines are the caller's; a watch has an idle limit of its own.
    headersTimeout: 0,
    bodyTimeout: 0,
    // undici speaks HTTP/2 where it can, and the 101st stream on one of the API server's connections hangs for ever.
    allowH2: false,
  };
  if (proxyUrl) return new ProxyAgent({ ...options, uri: proxyUrl, requestTls: { ...secured, allowH2: false } });
  return new Pool(new URL(server).origin, { ...options, connect: { ...secured, allowH2: false } });
}
