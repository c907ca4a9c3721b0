import { monitorEventLoopDelay } from "node:perf_hooks";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { RequestSeen } from "./transport.ts";

/** All of Latchkey's metrics. */
export const registry = new Registry();

const requests = new Counter({
  name: "latchkey_api_requests_total",
  help: "Requests to API servers, retries included, by verb, resource and HTTP status (or unreachable).",
  labelNames: ["verb", "resource", "code"],
  registers: [registry],
});

const seconds = new Histogram({
  name: "latchkey_api_request_seconds",
  help: "Time until an API server had answered, by verb.",
  labelNames: ["verb"],
  buckets: [0.005, 0.025, 0.1, 0.5, 1, 5, 30],
  registers: [registry],
});

let loopDelay: ReturnType<typeof monitorEventLoopDelay> | undefined;

new Gauge({
  name: "latchkey_event_loop_delay_seconds",
  help: "99th percentile of the event loop's delay since the last scrape.",
  registers: [registry],
  collect() {
    // Started by the first scrape: a command that serves no metrics pays nothing.
    if (!loopDelay) {
      loopDelay = monitorEventLoopDelay({ resolution: 20 });
      loopDelay.enable();
    }
    this.set(loopDelay.count > 0 ? loopDelay.percentile(99) / 1e9 : 0);
    loopDelay.reset();
  },
});

/** For `onRequest` of a client. */
export function countRequest({ verb, resource, status, ms }: RequestSeen): void {
  requests.inc({ verb, resource, code: String(status) });
  seconds.observe({ verb }, ms / 1000);
}
