import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** Stands before an API server and passes on whatever it says a while later. */
export class SlowProxy implements AsyncDisposable {
  /** What is said from now on arrives this much later. */
  delayMs = 0;
  readonly #server = createServer((client) => this.#serve(client));
  readonly #sockets = new Set<Socket>();
  readonly #port: number;

  constructor(server: string) {
    this.#port = Number(new URL(server).port);
  }

  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #serve(client: Socket): void {
    const server = connect(this.#port, "127.0.0.1");
    for (const [socket, other] of [[client, server] as const, [server, client] as const]) {
      this.#sockets.add(socket.setNoDelay(true));
      socket.on("error", () => other.destroy());
      socket.once("close", () => this.#sockets.delete(socket));
    }
    client.pipe(server);
    // One after the other: the order must not change when the delay does.
    let said = Promise.resolve();
    const later = (act: () => unknown) => {
      const atMs = performance.now() + this.delayMs;
      said = said.then(async () => {
        const leftMs = atMs - performance.now();
        if (leftMs > 0) await sleep(leftMs);
        act();
      });
    };
    server.on("data", (chunk) => later(() => client.writable && client.write(chunk)));
    server.once("end", () => later(() => client.end()));
  }
}
