import { isRecord } from "./json.ts";

export type Fields = Readonly<Record<string, unknown>>;
export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];

export interface Log {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  /** The same log, with these fields on every line. */
  with(fields: Fields): Log;
}

interface LogOptions {
  readonly level: LogLevel;
  readonly format: "json" | "text";
  /** Where a line goes; standard error unless told. */
  readonly write?: (line: string) => void;
}

/** Logs go to standard error, so that standard output stays free for what a command prints. */
export function createLog({ level, format, write = (line) => process.stderr.write(line) }: LogOptions): Log {
  const least = logLevels.indexOf(level);

  const logWith = (bound: Fields): Log => {
    const at = (lineLevel: LogLevel) => (message: string, fields?: Fields) => {
      if (logLevels.indexOf(lineLevel) < least) return;
      const all = { ...bound, ...fields };
      const time = new Date().toISOString();
      write(
        `${format === "json" ? jsonLine(time, lineLevel, message, all) : textLine(time, lineLevel, message, all)}\n`,
      );
    };
    return {
      debug: at("debug"),
      info: at("info"),
      warn: at("warn"),
      error: at("error"),
      with: (fields) => logWith({ ...bound, ...fields }),
    };
  };
  return logWith({});
}

function jsonLine(time: string, level: LogLevel, message: string, fields: Fields): string {
  return JSON.stringify({ time, level, message, ...fields }, printable);
}

function textLine(time: string, level: LogLevel, message: string, fields: Fields): string {
  const pairs = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${isPlainWord(value) ? value : JSON.stringify(value, printable)}`);
  return `${time.slice(11, 23)} ${level.toUpperCase().padEnd(5)} ${message}${pairs.join("")}`;
}

function isPlainWord(value: unknown): boolean {
  return typeof value === "string" && /^[^\s"=]+$/.test(value);
}

/** An Error has no fields of its own in JSON, and some carry whole bodies: only the words of the chain are printed. */
function printable(_name: string, value: unknown): unknown {
  return value instanceof Error ? describeError(value) : value;
}

/** A chain of causes may lead back into itself. */
const maxCauses = 8;

/** The messages of an error and its causes, outermost first. */
export function describeError(error: unknown): string {
  const words: string[] = [];
  let current = error;
  for (let depth = 0; depth < maxCauses && current !== undefined && current !== null; depth++) {
    const message = wordsOf(current);
    if (!words.includes(message)) words.push(message);
    current = isRecord(current) || current instanceof Error ? current.cause : undefined;
  }
  return words.join(": ");
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
