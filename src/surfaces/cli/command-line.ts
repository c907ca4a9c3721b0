import { readFileSync } from "node:fs";
import { type Command, Option as Flag } from "commander";
import { configFile } from "../../config.ts";
import { envOf, type Option, type Settings } from "../../options.ts";
import { parseSettings, UsageError } from "../../settings.ts";

/** Options under one heading of the help. */
interface OptionGroup {
  readonly heading: string;
  readonly options: readonly Option[];
}

export interface CommandShape {
  readonly name: string;
  readonly about: string;
  readonly groups: readonly OptionGroup[];
  /** Options of other commands that the config file may hold as well. */
  readonly alsoInFile?: readonly Option[];
  readonly example?: string;
  run(settings: Settings): Promise<number>;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Adds one command; its exit code is handed to `done`. */
export function addCommand(program: Command, shape: CommandShape, env: Env, done: (code: number) => void): void {
  const options = shape.groups.flatMap((group) => group.options);
  const command = program
    .command(shape.name)
    .description(shape.about)
    // Unknown words are refused by us, together with every other problem.
    .allowUnknownOption()
    .allowExcessArguments();
  command.configureHelp({ optionTerm: (flag) => termOf(options, flag), showGlobalOptions: false });
  for (const { heading, options: members } of shape.groups) {
    for (const option of members) command.addOption(flagOf(option).helpGroup(heading));
  }
  command.helpOption("-h, --help", "show this help").addHelpText("after", afterwordOf(shape));
  command.action(async () => {
    const settings = await readSettings(command, options, [...options, ...(shape.alsoInFile ?? [])], env);
    done(await shape.run(settings));
  });
}

async function readSettings(
  command: Command,
  options: readonly Option[],
  known: readonly Option[],
  env: Env,
): Promise<Settings> {
  const problems = command.args.map((word) =>
    word.startsWith("-") ? `unknown flag ${word.split("=", 1)[0]}` : `unexpected argument ${JSON.stringify(word)}`,
  );
  const given: Record<string, string | true> = command.opts();
  const flags = Object.fromEntries(options.map((option) => [option.name, given[attributeOf(option)]]));
  try {
    const settings = await parseSettings(options, { flags, env, file: readConfigFile(flags, env) }, known);
    if (problems.length === 0) return settings;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    problems.push(...error.problems);
  }
  throw new UsageError(problems);
}

function readConfigFile(flags: Readonly<Record<string, unknown>>, env: Env) {
  const path = flags[configFile.name] ?? env[envOf(configFile)];
  if (typeof path !== "string" || path === "") return undefined;
  try {
    return { path, text: readFileSync(path, "utf8") };
  } catch (error) {
    throw new UsageError([`--config: cannot read ${path} (${(error as NodeJS.ErrnoException).code})`]);
  }
}

/** Every value is optional for commander: a missing one is reported by us, with all the rest. */
function flagOf(option: Option): Flag {
  const short = option.short ? `-${option.short}, ` : "";
  return new Flag(`${short}--${option.name} [value]`, describe(option));
}

function describe(option: Option): string {
  const fallback = option.fallbackText ?? (option.fallback === undefined ? "" : String(option.fallback));
  return fallback === "" ? option.about : `${option.about} (default: ${fallback})`;
}

function termOf(options: readonly Option[], flag: Flag): string {
  const option = options.find(({ name }) => `--${name}` === flag.long);
  if (!option) return flag.flags;
  const short = option.short ? `-${option.short}, ` : "";
  return `${short}--${option.name}${option.isSwitch ? `[=${option.value}]` : ` ${option.value}`}`;
}

function afterwordOf({ groups, example }: CommandShape): string {
  const [option] = groups.at(-1)?.options ?? [];
  const rule = option
    ? `\nEvery flag can also be a variable (--${option.name} is ${envOf(option)}) or a key of the --config file (${option.name}).\nFlags win over variables, variables over the file.`
    : "";
  return example ? `${rule}\n\nExample:\n  ${example}` : rule;
}

/** commander's own name for a flag: `metricsAddress`. */
function attributeOf({ name }: Option): string {
  return name.replaceAll(/-([a-z0-9])/gu, (_, letter: string) => letter.toUpperCase());
}
