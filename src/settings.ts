import { envOf, type Option, type Settings } from "./options.ts";

/** Where values may come from, strongest first. */
export interface Sources {
  /** By option name; `true` for a flag that stood alone. */
  readonly flags: Readonly<Record<string, string | true | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly file?: { readonly path: string; readonly text: string } | undefined;
}

/** The user wrote something that cannot be meant: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}

/**
 * Reads every option, and names every problem at once. The file may hold any of the `known` options, so that one file
 * serves all commands.
 */
export async function parseSettings(
  options: readonly Option[],
  sources: Sources,
  known: readonly Option[] = options,
): Promise<Settings> {
  const problems: string[] = [];
  const file = await keysOf(sources.file, known, problems);
  const values = new Map<string, unknown>();

  for (const option of options) {
    const given = givenFor(option, sources, file);
    if (!given) continue;
    try {
      if (given.text === undefined) throw new Error(`needs a value: ${option.value}`);
      values.set(option.name, option.parse(given.text));
    } catch (error) {
      problems.push(`${given.from}: ${(error as Error).message}`);
    }
  }
  if (problems.length > 0) throw new UsageError(problems);

  return {
    get: <T>(option: Option<T>) => (values.has(option.name) ? (values.get(option.name) as T) : option.fallback),
  };
}

interface Given {
  readonly from: string;
  /** Undefined for a flag that lacks its value. */
  readonly text: string | undefined;
}

// Unknown LATCHKEY_* variables are no error: for a Service of that name Kubernetes itself puts LATCHKEY_PORT and the
// like into every Pod of the namespace.
function givenFor(option: Option, { flags, env }: Sources, file: ReadonlyMap<string, Given>): Given | undefined {
  const flag = flags[option.name];
  if (flag !== undefined) {
    const alone = option.isSwitch ? "on" : undefined;
    return { from: `--${option.name}`, text: flag === true ? alone : flag };
  }
  const variable = envOf(option);
  const inEnv = env[variable];
  if (inEnv !== undefined && inEnv !== "") return { from: variable, text: inEnv };
  return file.get(option.name);
}

async function keysOf(
  file: Sources["file"],
  known: readonly Option[],
  problems: string[],
): Promise<ReadonlyMap<string, Given>> {
  const keys = new Map<string, Given>();
  if (!file) return keys;

  const { parseDocument } = await import("yaml");

  const document = parseDocument(file.text);
  if (document.errors.length > 0) {
    problems.push(...document.errors.map((error) => `${file.path}: ${error.message.split("\n")[0]}`));
    return keys;
  }
  const content: unknown = document.toJS() ?? {};
  if (typeof content !== "object" || Array.isArray(content)) {
    problems.push(`${file.path}: must be a mapping of option names to values`);
    return keys;
  }
  for (const [key, value] of Object.entries(content as object)) {
    const from = `${file.path}: ${key}`;
    if (!known.some((option) => option.name === key)) problems.push(`${from}: unknown key`);
    else if (!["string", "number", "boolean"].includes(typeof value)) problems.push(`${from}: must be a single value`);
    else keys.set(key, { from, text: String(value) });
  }
  return keys;
}
