import { AsyncLocalStorage } from "node:async_hooks";
import type { Context, Tracer } from "@opentelemetry/api";

type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

interface Tracing {
  readonly api: typeof import("@opentelemetry/api");
  readonly tracer: Tracer;
  readonly parent: AsyncLocalStorage<Context>;
}

let tracing: Tracing | undefined;

/**
 * Starts tracing if `OTEL_EXPORTER_OTLP_ENDPOINT` is set, and only then loads what it takes: 15 MiB and 76 ms.
 * Returns how to send what is left and stop.
 */
export async function startTracing(
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<() => Promise<void>> {
  if (!env.OTEL_EXPORTER_OTLP_ENDPOINT) return async () => {};
  const [api, sdk, { OTLPTraceExporter }, { resourceFromAttributes }] = await Promise.all([
    import("@opentelemetry/api"),
    import("@opentelemetry/sdk-trace"),
    import("@opentelemetry/exporter-trace-otlp-http"),
    import("@opentelemetry/resources"),
  ]);
  const provider = new sdk.TracerProvider({
    resource: resourceFromAttributes({ "service.name": env.OTEL_SERVICE_NAME ?? "latchkey" }),
    spanProcessors: [
      new sdk.BatchSpanProcessor({
        exporter: new OTLPTraceExporter({ url: tracesUrl(env.OTEL_EXPORTER_OTLP_ENDPOINT) }),
      }),
    ],
  });
  tracing = { api, tracer: provider.getTracer("latchkey"), parent: new AsyncLocalStorage() };
  return async () => {
    tracing = undefined;
    await provider.shutdown();
  };
}

/** Runs `fn` inside a span of that name; without tracing it just runs. */
export async function span<T>(name: string, attributes: SpanAttributes, fn: () => Promise<T>): Promise<T> {
  if (!tracing) return await fn();
  const { api, tracer, parent } = tracing;
  const context = parent.getStore() ?? api.ROOT_CONTEXT;
  const current = tracer.startSpan(name, { attributes }, context);
  try {
    return await parent.run(api.trace.setSpan(context, current), fn);
  } catch (error) {
    // The class only: messages may quote what users wrote.
    current.setStatus({ code: api.SpanStatusCode.ERROR, message: error instanceof Error ? error.name : "error" });
    throw error;
  } finally {
    current.end();
  }
}

/** Runs `fn` as nobody's part: what goes on for long would hang on whatever span began it. */
export function detached<T>(fn: () => T): T {
  return tracing ? tracing.parent.exit(fn) : fn();
}

/** As the OpenTelemetry specification builds it from the endpoint of all signals. */
function tracesUrl(endpoint: string): string {
  return `${endpoint.replace(/\/+$/, "")}/v1/traces`;
}
