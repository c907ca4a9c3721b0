import assert from "node:assert/strict";
import { test } from "node:test";
import { choice, onOff, text } from "./options.ts";
import { parseSettings, type Sources, UsageError } from "./settings.ts";

const level = choice(["debug", "info"], { name: "log-level", about: "", fallback: "info" });
const crds = onOff({ name: "install-crds", about: "", fallback: false });
const id = text({ name: "replica-id", about: "", fallback: "nobody" });
const options = [level, crds, id];

const file = (content: string) => ({ path: "latchkey.yaml", text: content });
const settingsOf = (sources: Partial<Sources>) => parseSettings(options, { flags: {}, env: {}, ...sources });

async function problemsOf(sources: Partial<Sources>): Promise<readonly string[]> {
  try {
    await settingsOf(sources);
  } catch (error) {
    assert.ok(error instanceof UsageError);
    return error.problems;
  }
  return [];
}

test("flags win over variables, variables over the file, the file over defaults", async () => {
  const all = { env: { LATCHKEY_REPLICA_ID: "env" }, file: file("replica-id: file\nlog-level: debug") };
  assert.equal((await settingsOf({ ...all, flags: { "replica-id": "flag" } })).get(id), "flag");
  assert.equal((await settingsOf(all)).get(id), "env");
  assert.equal((await settingsOf({ file: all.file })).get(id), "file");
  assert.equal((await settingsOf(all)).get(level), "debug");
  assert.equal((await settingsOf({})).get(id), "nobody");
});

test("a switch may stand alone, and the file may say true", async () => {
  assert.equal((await settingsOf({ flags: { "install-crds": true } })).get(crds), true);
  assert.equal((await settingsOf({ file: file("install-crds: true") })).get(crds), true);
  assert.equal((await settingsOf({ flags: { "install-crds": "off" } })).get(crds), false);
});

test("an empty variable counts as none", async () => {
  assert.equal((await settingsOf({ env: { LATCHKEY_REPLICA_ID: "" } })).get(id), "nobody");
});

test("variables that Kubernetes makes for a Service named latchkey are no problem", async () => {
  assert.deepEqual(await problemsOf({ env: { LATCHKEY_PORT: "tcp://10.0.0.1:443" } }), []);
});

test("every problem is named, with where it came from", async () => {
  const problems = await problemsOf({
    flags: { "log-level": "loud" },
    env: { LATCHKEY_INSTALL_CRDS: "perhaps" },
    file: file("colour: red\nreplica-id: [a, b]"),
  });
  assert.deepEqual(problems, [
    "latchkey.yaml: colour: unknown key",
    "latchkey.yaml: replica-id: must be a single value",
    '--log-level: "loud" is none of debug, info',
    'LATCHKEY_INSTALL_CRDS: "perhaps" is neither on nor off',
  ]);
});

const badFiles = [
  { name: "a list", text: "- a\n- b", problem: /must be a mapping/u },
  { name: "broken YAML", text: "a: [", problem: /^latchkey\.yaml: / },
  { name: "a key twice", text: "replica-id: a\nreplica-id: b", problem: /unique/u },
];
for (const { name, text: content, problem } of badFiles) {
  test(`a config file that is ${name} is refused`, async () => {
    const [first] = await problemsOf({ file: file(content) });
    assert.match(first ?? "", problem);
  });
}

test("an empty config file is fine", async () => {
  assert.deepEqual(await problemsOf({ file: file("# nothing yet\n") }), []);
});

test("a flag without its value says what it needs", async () => {
  assert.deepEqual(await problemsOf({ flags: { "replica-id": true } }), ["--replica-id: needs a value: <text>"]);
});

test("a key of another command's option is known, and left alone", async () => {
  const settings = await parseSettings([id], { flags: {}, env: {}, file: file("log-level: nonsense") }, options);
  assert.equal(settings.get(id), "nobody");
});
