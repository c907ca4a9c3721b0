import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Pool } from "undici";
import type { ControlPlane } from "../../tools/local/control-plane.ts";

/** The limit: the same requests, and nothing else, over the same number of connections. */
export class BareClient implements AsyncDisposable {
  readonly #pool: Pool;

  constructor({ server, admin }: ControlPlane, connections: number) {
    const { ca, cert, key } = admin;
    this.#pool = new Pool(server, { connections, allowH2: false, connect: { ca, cert, key } });
  }

  async send(
    method: "GET" | "POST" | "PATCH" | "DELETE",
    path: string,
    body?: object,
    accept = "application/json",
  ): Promise<string> {
    const contentType = method === "PATCH" ? "application/json-patch+json" : "application/json";
    const headers = { accept, "content-type": contentType };
    const request = { method, path, headers, body: body ? JSON.stringify(body) : null };
    const response = await this.#pool.request(request).catch((cause) => {
      throw new Error(`void: the bare client's ${method} ${path} was not answered`, { cause });
    });
    const text = await response.body.text();
    if (response.statusCode >= 300)
      throw new Error(`void: the bare client was answered ${response.statusCode}: ${text}`);
    return text;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.close();
  }
}

export const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
export const metadataListOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/** Resident memory of a process in MiB. */
export function residentMiB(pid: number): number {
  const status = readFileSync(join("/proc", String(pid), "status"), "utf8");
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}
