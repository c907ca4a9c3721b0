import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Choice } from "./choose-modes.ts";
import { configOf, operatorOptions, surroundings } from "./config.ts";
import type { Deps, Feature, FeatureEntry } from "./features/feature.ts";
import { createLog } from "./kube/log.ts";
import { openFeatures, type SharedDeps } from "./open-features.ts";
import type { Mode } from "./runtime/modes.ts";
import { parseSettings } from "./settings.ts";
import { cannedServer, refuses } from "./testing/canned-server.ts";

type Open = (deps: Deps) => Promise<Feature>;

test("where one feature cannot be opened, those before it are closed again, the last one first", async (t) => {
  const { openAll, seen, opening } = await prepare(t);
  const failing = () => () => Promise.reject(new Error("cannot be opened"));
  await assert.rejects(
    openAll(choiceOf("a", opening), choiceOf("b", opening), choiceOf("c", failing)),
    /cannot be opened/,
  );
  assert.deepEqual(seen, ["a opened instead", "b opened instead", "b closed", "a closed"]);
});

test("each is opened in its mode, and those that are off are not", async (t) => {
  const { openAll, seen, opening } = await prepare(t);
  const open = await openAll(choiceOf("a", opening, "beside"), choiceOf("b", opening, "off"), choiceOf("c", opening));
  assert.equal(open.list.length, 2);
  await open[Symbol.asyncDispose]();
  assert.deepEqual(seen, ["a opened beside", "c opened instead", "c closed", "a closed"]);
});

async function prepare(t: TestContext) {
  const { kube } = await cannedServer(t, refuses(404, "NotFound"));
  const config = configOf(await parseSettings(operatorOptions, { flags: {}, env: {} }), surroundings);
  const run = { log: createLog({ level: "error", format: "json" }), signal: new AbortController().signal };
  const seen: string[] = [];
  const opening = (name: string): Open => {
    return async ({ mode, signal }) => {
      seen.push(`${name} opened ${mode}`);
      const dispose = async () => {
        assert.ok(signal.aborted, "it is told to end before it is closed");
        seen.push(`${name} closed`);
      };
      return { controllers: [], admission: [], caches: [], [Symbol.asyncDispose]: dispose };
    };
  };
  const openAll = (...choices: readonly Choice[]) => openFeatures(choices, { kube } as SharedDeps, config, run);
  return { openAll, seen, opening };
}

function choiceOf(name: string, opening: (name: string) => Open, mode: Mode = "instead"): Choice {
  return { entry: entryOf(name, opening(name)), mode, refusals: [], missing: [], kinds: [], modes: [] };
}

function entryOf(name: string, open: Open): FeatureEntry {
  const module = {
    open,
    uninstall: async () => ({ done: [], left: [] }),
    summarise: async () => ({ counts: [], problems: [] }),
  };
  return { name, about: "", kinds: [], hasOriginal: false, crds: async () => [], load: async () => module };
}
