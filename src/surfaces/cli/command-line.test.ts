import assert from "node:assert/strict";
import { test } from "node:test";
import { Command } from "commander";
import { choice, type Option, onOff, type Settings, text } from "../../options.ts";
import { UsageError } from "../../settings.ts";
import { addCommand } from "./command-line.ts";

const name = text({ name: "replica-id", about: "name of this replica", fallback: undefined });
const crds = onOff({ name: "install-crds", about: "apply our CRDs", fallback: false });
const output = choice(["table", "json"], { name: "output", short: "o", about: "form", fallback: "table" });
const options: readonly Option[] = [name, crds, output];

function programFor(run: (settings: Settings) => Promise<number>): {
  program: Command;
  codes: number[];
  help: string[];
} {
  const codes: number[] = [];
  const help: string[] = [];
  const program = new Command("latchkey").exitOverride();
  program.configureOutput({ writeOut: (words) => help.push(words) });
  const groups = [{ heading: "Operator:", options }];
  addCommand(program, { name: "run", about: "run it", groups, run }, {}, (code) => codes.push(code));
  return { program, codes, help };
}

test("flags reach the command, and its exit code comes back", async () => {
  const seen: unknown[] = [];
  const { program, codes } = programFor(async (settings) => {
    seen.push(...options.map((option) => settings.get(option)));
    return 7;
  });
  await program.parseAsync(["run", "--replica-id=a", "--install-crds", "-o", "json"], { from: "user" });
  assert.deepEqual(seen, ["a", true, "json"]);
  assert.deepEqual(codes, [7]);
});

test("unknown flags and bad values are named together, and the command does not run", async () => {
  const { program, codes } = programFor(async () => 0);
  await assert.rejects(
    program.parseAsync(["run", "--fast=yes", "--output", "xml", "--replica-id"], { from: "user" }),
    (error: unknown) => {
      assert.ok(error instanceof UsageError);
      assert.deepEqual(error.problems, [
        "unknown flag --fast",
        "--replica-id: needs a value: <text>",
        '--output: "xml" is none of table, json',
      ]);
      return true;
    },
  );
  assert.deepEqual(codes, []);
});

test("a config file that is not there is a usage error", async () => {
  const { program } = programFor(async () => 0);
  const config = text({ name: "config", about: "", fallback: undefined });
  const command = { name: "with", about: "", groups: [{ heading: "Options:", options: [config] }], run: async () => 0 };
  addCommand(program, command, {}, () => {});
  const run = program.parseAsync(["with", "--config=/nonexistent.yaml"], { from: "user" });
  await assert.rejects(run, /cannot read \/nonexistent\.yaml \(ENOENT\)/u);
});

test("the help shows every flag with its value and default", async () => {
  const { program, help } = programFor(async () => 0);
  await assert.rejects(program.parseAsync(["run", "--help"], { from: "user" }), { code: "commander.helpDisplayed" });
  const shown = help.join("");
  assert.match(shown, /Operator:/u);
  assert.match(shown, /--replica-id <text>/u);
  assert.match(shown, /--install-crds\[=on\|off\]/u);
  assert.match(shown, /-o, --output table\|json\s+form \(default:\s+table\)/u);
  assert.match(shown, /LATCHKEY_REPLICA_ID/u);
});
