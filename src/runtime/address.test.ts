import assert from "node:assert/strict";
import { test } from "node:test";
import { localUrlOf, parseAddress } from "./address.ts";

const addresses = [
  { address: ":8080", host: undefined, port: 8080, url: "http://127.0.0.1:1" },
  { address: "0.0.0.0:8080", host: "0.0.0.0", port: 8080, url: "http://127.0.0.1:1" },
  { address: "[::]:8080", host: "::", port: 8080, url: "http://127.0.0.1:1" },
  { address: "127.0.0.1:0", host: "127.0.0.1", port: 0, url: "http://127.0.0.1:1" },
  { address: "[::1]:9", host: "::1", port: 9, url: "http://[::1]:1" },
  { address: "node-1:9", host: "node-1", port: 9, url: "http://node-1:1" },
] as const;

for (const { address, host, port, url } of addresses) {
  test(`parseAddress: ${address}`, () => assert.deepEqual(parseAddress(address), { host, port }));
  test(`localUrlOf: ${address}: ${url}`, () => assert.equal(localUrlOf("http", address, 1), url));
}

for (const address of ["8080", "localhost", "a:b", ":70000", "::1:80", ""]) {
  test(`parseAddress: "${address}" is refused`, () => assert.throws(() => parseAddress(address), /is not an address/));
}
