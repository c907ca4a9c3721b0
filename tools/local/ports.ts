import { once } from "node:events";
import { createServer, type Server } from "node:net";

export interface Ports {
  readonly api: number;
  readonly etcdClient: number;
  readonly etcdPeer: number;
  readonly manager: number;
  readonly scheduler: number;
  readonly kwok: number;
  readonly registry: number;
}

export async function choosePorts(): Promise<Ports> {
  const [api = 0, etcdClient = 0, etcdPeer = 0, manager = 0, scheduler = 0, kwok = 0, registry = 0] =
    await freePorts(7);
  return { api, etcdClient, etcdPeer, manager, scheduler, kwok, registry };
}

/** Asks the kernel for free loopback ports, all different: they are held until the last one is known. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, listen));
  const ports = servers.map(portOf);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

async function listen(): Promise<Server> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

function portOf(server: Server): number {
  const address = server.address();
  if (!address || typeof address === "string") throw new Error("the kernel gave no port");
  return address.port;
}
