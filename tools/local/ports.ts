import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { tryLock } from "./lock.ts";

export interface Ports extends Disposable {
  readonly api: number;
  readonly etcdClient: number;
  readonly etcdPeer: number;
  readonly manager: number;
  readonly scheduler: number;
  readonly kwok: number;
  readonly registry: number;
}

/** Below those that kernels give to whoever asks for any. */
const range = { from: 20_000, to: 32_000 };
const rowLength = 7;
const attempts = 100;

/**
 * A row of free loopback ports, kept from all other control planes until disposed. A port that is merely free now may
 * be taken by two: the etcd of the one then answers for that of the other, and two clusters have one memory.
 */
export async function choosePorts(): Promise<Ports> {
  const dir = join(tmpdir(), `latchkey-ports-${userInfo().uid}`);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  for (let attempt = 0; attempt < attempts; attempt++) {
    const rows = (range.to - range.from) / rowLength;
    const first = range.from + rowLength * Math.floor(rows * Math.random());
    const lock = tryLock(join(dir, String(first)));
    if (!lock) continue;
    const row = Array.from({ length: rowLength }, (_, index) => first + index);
    if ((await Promise.all(row.map(isFree))).every(Boolean)) return portsOf(row, lock);
    lock[Symbol.dispose]();
  }
  throw new Error(`no row of free ports was found between ${range.from} and ${range.to}`);
}

function portsOf(row: readonly number[], lock: Disposable): Ports {
  const [api = 0, etcdClient = 0, etcdPeer = 0, manager = 0, scheduler = 0, kwok = 0, registry = 0] = row;
  const ports = { api, etcdClient, etcdPeer, manager, scheduler, kwok, registry };
  return { ...ports, [Symbol.dispose]: () => lock[Symbol.dispose]() };
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return true;
  } catch {
    return false;
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}
