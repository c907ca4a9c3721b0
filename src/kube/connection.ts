export interface ClientCertificate {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
}

interface TlsSettings {
  /** PEM. */
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly serverName?: string | undefined;
  readonly insecure?: boolean | undefined;
}

export interface Impersonation {
  readonly user: string;
  readonly uid?: string | undefined;
  readonly groups?: readonly string[] | undefined;
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** How to reach one API server, and as whom. */
export interface Connection {
  /** URL. */
  readonly server: string;
  readonly tls: TlsSettings;
  /** The `Authorization` header of the moment. */
  readonly authorization: () => Promise<string | undefined>;
  /** From a credential plugin; comes before the one in `tls`. */
  readonly clientCertificate?: (() => Promise<ClientCertificate | undefined>) | undefined;
  /** After a 401; true where it is worth asking again. */
  readonly renewCredentials?: (() => boolean) | undefined;
  readonly proxyUrl?: string | undefined;
  readonly impersonate?: Impersonation | undefined;
}
