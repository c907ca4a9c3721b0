interface Position {
  readonly line: number;
  readonly column: number;
}

type Expected = keyof typeof grammar;
type Row = readonly [fits: RegExp, ...following: Expected[]];

const blank = /[ \t\r\n]/;
const endOfText = /^$/;
/** Leaves the character to what is expected next. */
const otherwise = /^/;

/** What is expected: by the next character, what has to follow it. The first row that fits is taken. */
const grammar = {
  end: [[blank, "end"], [endOfText]],
  value: [
    [blank, "value"],
    [/"/, "string"],
    [/\{/, "firstKey"],
    [/\[/, "firstItem"],
    [/-/, "integer"],
    [/0/, "fraction"],
    [/[1-9]/, "moreInteger"],
    [/t/, "r", "u", "e"],
    [/f/, "a", "l", "s", "e"],
    [/n/, "u", "l", "l"],
  ],

  firstKey: [[blank, "firstKey"], [/\}/], [otherwise, "key"]],
  key: [
    [blank, "key"],
    [/"/, "string", "colon", "value", "afterMember"],
  ],
  colon: [[blank, "colon"], [/:/]],
  afterMember: [[blank, "afterMember"], [/,/, "key"], [/\}/]],

  firstItem: [[blank, "firstItem"], [/\]/], [otherwise, "value", "afterItem"]],
  afterItem: [[blank, "afterItem"], [/,/, "value", "afterItem"], [/\]/]],

  string: [[/"/], [/\\/, "escape", "string"], [/[ !#-[\]-\u{10ffff}]/u, "string"]],
  escape: [[/["\\/bfnrt]/], [/u/, "hex", "hex", "hex", "hex"]],
  hex: [[/[0-9a-fA-F]/]],

  integer: [
    [/0/, "fraction"],
    [/[1-9]/, "moreInteger"],
  ],
  moreInteger: [
    [/[0-9]/, "moreInteger"],
    [otherwise, "fraction"],
  ],
  fraction: [
    [/\./, "digit", "moreDigits", "exponent"],
    [otherwise, "exponent"],
  ],
  exponent: [[/[eE]/, "sign", "digit", "moreDigits"], [otherwise]],
  sign: [[/[+-]/], [otherwise]],
  digit: [[/[0-9]/]],
  moreDigits: [[/[0-9]/, "moreDigits"], [otherwise]],

  a: [[/a/]],
  e: [[/e/]],
  l: [[/l/]],
  r: [[/r/]],
  s: [[/s/]],
  u: [[/u/]],
} as const;
const rowsOf: Readonly<Record<Expected, readonly Row[]>> = grammar;

/**
 * Where a text stops being JSON: its first character that cannot continue one, or just behind a text that ends too
 * early. Tells the place alone, for the text holds credentials and the error of JSON.parse quotes it.
 */
export function jsonFaultIn(text: string): Position | undefined {
  const expected: Expected[] = ["end", "value"];
  let line = 1;
  let column = 1;
  for (const character of text) {
    if (!continues(expected, character)) return { line, column };
    column = character === "\n" ? 1 : column + 1;
    if (character === "\n") line += 1;
  }
  return continues(expected, "") ? undefined : { line, column };
}

/** Takes one character, "" for the end of the text. A stack of its own, the next on top: nesting may be deep. */
function continues(expected: Expected[], character: string): boolean {
  for (;;) {
    const row = rowsOf[expected.pop()!].find(([fits]) => fits.test(character));
    if (!row) return false;
    const [fits, ...following] = row;
    expected.push(...following.reverse());
    if (fits !== otherwise) return true;
  }
}
