import { parseDuration } from "./kube/duration.ts";

/**
 * One setting: a flag of the command line, a variable of the environment and a key of the config file at once.
 * A feature contributes its own as values of this type and reads them back by the same value.
 */
export interface Option<T = unknown> {
  /** As in the flag, without dashes in front: `metrics-address`. The environment has `LATCHKEY_METRICS_ADDRESS`. */
  readonly name: string;
  /** `o` for `-o`. */
  readonly short?: string;
  /** What stands for the value in the help: `<address>`. */
  readonly value: string;
  readonly about: string;
  readonly fallback: T;
  /** The fallback in words, where its value would not tell; nothing is shown for an empty text. */
  readonly fallbackText?: string;
  /** A flag that may stand alone. */
  readonly isSwitch?: boolean;
  /** Throws an Error whose message completes `--name: …`. */
  parse(text: string): T;
}

/** The values of all options, looked up by the option itself. */
export interface Settings {
  get<T>(option: Option<T>): T;
}

export const envOf = (option: Option): string => `LATCHKEY_${option.name.replaceAll("-", "_").toUpperCase()}`;

type Shape<T> = Pick<Option<T>, "name" | "about"> & Partial<Pick<Option<T>, "value" | "short" | "fallbackText">>;

export function text<F extends string | undefined>(
  shape: Shape<string | F> & { readonly fallback: F },
): Option<string | F> {
  return { value: "<text>", ...shape, parse: parseText };
}

export function onOff(shape: Shape<boolean> & { readonly fallback: boolean }): Option<boolean> {
  return { value: "on|off", isSwitch: true, fallbackText: shape.fallback ? "on" : "off", ...shape, parse: parseOnOff };
}

export function choice<const T extends string, F extends T | undefined>(
  words: readonly T[],
  shape: Shape<T | F> & { readonly fallback: F },
): Option<T | F> {
  const parse = (given: string): T => {
    const word = words.find((candidate) => candidate === given);
    if (word === undefined) throw new Error(`${JSON.stringify(given)} is none of ${words.join(", ")}`);
    return word;
  };
  return { value: words.join("|"), ...shape, parse };
}

/** A Go duration, read back in milliseconds. */
export function duration(
  shape: Shape<number> & { readonly fallback: number; readonly fallbackText: string },
): Option<number> {
  return { value: "<duration>", ...shape, parse: parseDuration };
}

function parseText(given: string): string {
  if (given === "") throw new Error("must not be empty");
  return given;
}

function parseOnOff(given: string): boolean {
  if (given === "on" || given === "true") return true;
  if (given === "off" || given === "false") return false;
  throw new Error(`${JSON.stringify(given)} is neither on nor off`);
}
