import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { choosePorts, type Ports } from "./ports.ts";

const rowOf = ({ api, etcdClient, etcdPeer, manager, scheduler, kwok, registry }: Ports): readonly number[] => [
  ...[api, etcdClient, etcdPeer, manager, scheduler, kwok, registry],
];

test("no two control planes are given the same port", async () => {
  const chosen = await Promise.all(Array.from({ length: 40 }, choosePorts));
  try {
    const all = chosen.flatMap(rowOf);
    assert.equal(new Set(all).size, 40 * 7);
  } finally {
    for (const ports of chosen) ports[Symbol.dispose]();
  }
});

test("what is given can be listened on", async () => {
  using ports = await choosePorts();
  for (const port of rowOf(ports)) {
    const server = createServer().listen(port, "127.0.0.1");
    await once(server, "listening");
    await new Promise((resolve) => server.close(resolve));
  }
});
