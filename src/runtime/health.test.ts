import assert from "node:assert/strict";
import { test } from "node:test";
import { Gauge, Registry } from "prom-client";
import { serveHealth } from "./health.ts";

test("health tells what is failing by name, and metrics are served", async (t) => {
  const registry = new Registry();
  new Gauge({ name: "latchkey_test", help: "A gauge.", registers: [registry] }).set(7);
  let problem: string | undefined;
  const check = { name: "secretsync", failing: () => problem };
  const broken = {
    name: "broken",
    failing: () => {
      throw new Error("the check itself failed");
    },
  };
  const server = await serveHealth({ address: "127.0.0.1:0", registry, checks: { live: [check], ready: [broken] } });
  t.after(() => server.close());
  const read = async (path: string) => {
    const answer = await fetch(`${server.url}${path}`);
    return `${answer.status} ${await answer.text()}`;
  };

  assert.equal(await read("/healthz"), "200 ok\n");
  problem = "no pass has ended for 11 minutes";
  assert.equal(await read("/healthz?verbose"), "503 secretsync: no pass has ended for 11 minutes\n");
  assert.equal(await read("/readyz"), "500 the check itself failed\n");
  assert.match(await read("/metrics"), /^200 .*latchkey_test 7/s);
  assert.match(await read("/"), /^404 /);
});

test("an address in use is an error that names it", async (t) => {
  const registry = new Registry();
  const checks = { live: [], ready: [] };
  const first = await serveHealth({ address: "127.0.0.1:0", registry, checks });
  t.after(() => first.close());
  const address = new URL(first.url).host;
  await assert.rejects(serveHealth({ address, registry, checks }), { message: new RegExp(`listen on ${address}`) });
});
