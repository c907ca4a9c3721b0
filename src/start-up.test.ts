import assert from "node:assert/strict";
import { test } from "node:test";
import { configOf, operatorOptions, surroundings } from "./config.ts";
import type { Feature, FeatureEntry } from "./features/feature.ts";
import { createLog } from "./kube/log.ts";
import { parseSettings } from "./settings.ts";
import { openFeatures } from "./start-up.ts";
import { cannedServer, refuses } from "./testing/canned-server.ts";

test("where one feature cannot be opened, those before it are closed again, the last one first", async (t) => {
  const { kube } = await cannedServer(t, refuses(404, "NotFound"));
  const config = configOf(await parseSettings(operatorOptions, { flags: {}, env: {} }), surroundings);
  const run = { log: createLog({ level: "error", format: "json" }), signal: new AbortController().signal };
  const seen: string[] = [];
  const opening = (name: string) => async (): Promise<Feature> => {
    seen.push(`${name} opened`);
    const dispose = async () => void seen.push(`${name} closed`);
    return { controllers: [], admission: [], caches: [], [Symbol.asyncDispose]: dispose };
  };
  const failing = () => Promise.reject(new Error("cannot be opened"));
  const chosen = [opening("a"), opening("b"), failing].map((open, index) => ({
    entry: entryOf(`feature${index}`, open),
    mode: "instead" as const,
  }));
  await assert.rejects(openFeatures(chosen, kube, config, run), /cannot be opened/);
  assert.deepEqual(seen, ["a opened", "b opened", "b closed", "a closed"]);
});

function entryOf(name: string, open: () => Promise<Feature>): FeatureEntry {
  const module = { open, uninstall: async () => [], summarise: async () => ({ counts: [], problems: [] }) };
  return { name, about: "", kinds: [], hasOriginal: false, crds: async () => [], load: async () => module };
}
