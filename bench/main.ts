import { publish, type Report } from "./lib/report.ts";

type Benchmark = (signal: AbortSignal) => Promise<Report>;

const benchmarks: Readonly<Record<string, () => Promise<Benchmark>>> = {
  fanout: async () => (await import("./fanout.ts")).fanout,
  storm: async () => (await import("./storm.ts")).storm,
  headofline: async () => (await import("./headofline.ts")).headofline,
  coldstart: async () => (await import("./coldstart.ts")).coldstart,
  idle: async () => (await import("./idle.ts")).idle,
  injection: async () => (await import("./injection.ts")).injection,
  namespaces: async () => (await import("./namespaces.ts")).namespaces,
  fleet: async () => (await import("./fleet.ts")).fleet,
};

const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.once(name, () => {
    stop.abort();
    // Whatever does not heed the signal: the servers die with this process.
    setTimeout(() => process.exit(1), 10_000).unref();
  });
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in benchmarks));
if (wanted.length === 0 || unknown.length > 0) {
  const names = Object.keys(benchmarks).join(" | ");
  process.stderr.write(
    `${unknown.map((name) => `unknown benchmark: ${name}\n`).join("")}usage: npm run bench -- ${names}\n`,
  );
  process.exit(2);
}
for (const name of wanted) {
  const benchmark = await benchmarks[name]?.();
  if (benchmark) await publish(await benchmark(stop.signal));
}
