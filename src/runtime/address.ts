/** `[::1]:8080`, `127.0.0.1:8080`, `:8080`; without a host it is every address. */
export function parseAddress(address: string): { readonly host: string | undefined; readonly port: number } {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(address) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > 65_535)
    throw new Error(`"${address}" is not an address like 127.0.0.1:8080 or :8080`);
  return { host: bracketed ?? (plain || undefined), port };
}

/** Where this machine reaches a server that listens on that address; the port is the one it was given. */
export function localUrlOf(scheme: "http" | "https", address: string, port: number): string {
  const { host } = parseAddress(address);
  if (host === undefined || host === "0.0.0.0" || host === "::") return `${scheme}://127.0.0.1:${port}`;
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
