import { Counter, Histogram } from "prom-client";
import { registry } from "../../kube/metrics.ts";

export const reviewSeconds = new Histogram({
  name: "latchkey_webhook_review_seconds",
  help: "Time from the arrival of an admission review to its answer.",
  labelNames: ["hook"],
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3],
  registers: [registry],
});

export const reviewsTotal = new Counter({
  name: "latchkey_webhook_reviews_total",
  help: "Admission reviews by result: allowed, denied, error (the handler failed), abandoned (the API server hung up), malformed.",
  labelNames: ["hook", "result"],
  registers: [registry],
});

export const reviewApiCalls = new Counter({
  name: "latchkey_webhook_api_calls_total",
  help: "Requests to the API server that admission reviews waited for.",
  labelNames: ["hook"],
  registers: [registry],
});
