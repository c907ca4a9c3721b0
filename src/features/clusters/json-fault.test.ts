import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseJsonOrUndefined } from "../../kube/json.ts";
import { jsonFaultIn } from "./json-fault.ts";

const deep = 65_536;

const accepted = [
  ...["{}", "[]", '""', "0", "-0", "true", "false", "null", " \t\r\n[ ] \t\r\n"],
  ...["10", "-1.50", "0e0", "1E+09", "1.5e-7", "[0,-1,2.5,3e4]"],
  ...['"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00aF"', '"\u007f\u2028\u{1f511}"', '"\ud83d"', '"\\ud83d"'],
  ...['{"a":{"b":[{},[],null]},"a":1}', '{ "" : 0 , "__proto__" : 1 }'],
];
for (const text of accepted) {
  test(`jsonFaultIn accepts ${JSON.stringify(text)}`, () => {
    JSON.parse(text);
    assert.equal(jsonFaultIn(text), undefined);
  });
}

const faults = [
  { name: "nothing", text: "", at: [1, 1] },
  { name: "blanks alone", text: " \n ", at: [2, 2] },
  { name: "a blank of another kind", text: "\u00a0{}", at: [1, 1] },
  { name: "a byte order mark", text: "\ufeff{}", at: [1, 1] },
  { name: "a text that ends in an object", text: '{"a":1', at: [1, 7] },
  { name: "a text that ends in a string", text: '"a', at: [1, 3] },
  { name: "a text that ends in an escape", text: '"\\u00', at: [1, 6] },
  { name: "a text that ends with a line", text: "[1,\n", at: [2, 1] },
  { name: "a trailing comma in an object", text: '{"a":{},\n}', at: [2, 1] },
  { name: "a trailing comma in an array", text: "[1, ]", at: [1, 5] },
  { name: "a comma at the front", text: "[,1]", at: [1, 2] },
  { name: "a missing comma", text: '{"a":1\n "b":2}', at: [2, 2] },
  { name: "a missing colon", text: '{"a" 1}', at: [1, 6] },
  { name: "a missing value", text: '{"a":}', at: [1, 6] },
  { name: "a key without quotes", text: "{a:1}", at: [1, 2] },
  { name: "a key that is a number", text: '{"a":1,2:3}', at: [1, 8] },
  { name: "single quotes", text: "{'a':1}", at: [1, 2] },
  { name: "the wrong bracket", text: '{"a":[1}]', at: [1, 8] },
  { name: "a comment", text: "[1, // one\n2]", at: [1, 5] },
  { name: "a second value", text: "{}\n\n {}", at: [3, 2] },
  { name: "a bracket too many", text: "[]]", at: [1, 3] },
  { name: "a misspelt word", text: "tru}", at: [1, 4] },
  { name: "a word too long", text: "nulll", at: [1, 5] },
  { name: "a word in capitals", text: "True", at: [1, 1] },
  { name: "not a number", text: "NaN", at: [1, 1] },
  { name: "a leading zero", text: "01", at: [1, 2] },
  { name: "a plus", text: "+1", at: [1, 1] },
  { name: "a minus alone", text: "[-]", at: [1, 3] },
  { name: "a minus and a leading zero", text: "-01", at: [1, 3] },
  { name: "a point at the front", text: ".5", at: [1, 1] },
  { name: "a point at the end", text: "[5.]", at: [1, 4] },
  { name: "an empty exponent", text: "[1e+]", at: [1, 5] },
  { name: "a second point", text: "1.2.3", at: [1, 4] },
  { name: "a tab in a string", text: '"a\tb"', at: [1, 3] },
  { name: "a line break in a string", text: '["a\n"]', at: [1, 4] },
  { name: "a CRLF in a string, at its CR", text: '["a\r\n"]', at: [1, 4] },
  { name: "an unknown escape", text: '"\\x"', at: [1, 3] },
  { name: "a bad hex digit", text: '"\\u00g0"', at: [1, 6] },
  { name: "too few hex digits", text: '"\\u00"', at: [1, 6] },
  { name: "after a CRLF, one line on", text: "[\r\n\r\n,]", at: [3, 1] },
  { name: "after a CR alone, in the same line", text: "[\r,]", at: [1, 3] },
  { name: "behind a code point of two units", text: '["\u{1f511}"!]', at: [1, 5] },
  { name: "at a code point of two units", text: "[\u{1f511}]", at: [1, 2] },
] as const;
for (const { name, text, at } of faults) {
  test(`jsonFaultIn finds ${name}`, () => {
    const [line, column] = at;
    assert.deepEqual(jsonFaultIn(text), { line, column });
  });
}

test("jsonFaultIn does not mind how deep a text is nested", () => {
  assert.deepEqual(jsonFaultIn("[".repeat(deep)), { line: 1, column: deep + 1 });
  assert.deepEqual(jsonFaultIn('{"":'.repeat(deep)), { line: 1, column: 4 * deep + 1 });
  assert.equal(jsonFaultIn("[".repeat(deep) + "]".repeat(deep)), undefined);
});

const snippet = fc.constantFrom(
  ..."{}[]:,\"\\/ \t\r\n-+.019eEtrufalsn'\u0000\u{1f511}",
  '""',
  "\\u00",
  "tru",
  "-0",
  "1e",
);
/** JSON with a few characters replaced, added or left out. */
const mutated = fc
  .tuple(
    fc.json({ maxDepth: 3 }),
    fc.array(fc.record({ at: fc.nat(), without: fc.nat(2), put: fc.option(snippet, { nil: "" }) }), { maxLength: 3 }),
  )
  .map(([json, edits]) =>
    edits.reduce((text, { at, without, put }) => {
      const start = at % (text.length + 1);
      return text.slice(0, start) + put + text.slice(start + without);
    }, json),
  );
const scribble = fc.array(snippet, { maxLength: 12 }).map((parts) => parts.join(""));
const texts = fc.oneof(mutated, scribble);

test("jsonFaultIn finds a fault just where JSON.parse does", () => {
  fc.assert(
    fc.property(texts, (text) => {
      assert.equal(jsonFaultIn(text) === undefined, parseJsonOrUndefined(text) !== undefined);
    }),
    { numRuns: 2_000 },
  );
});

test("what is before a fault can be continued to JSON, with the character at it no more", () => {
  fc.assert(
    fc.property(texts, (text) => {
      const fault = jsonFaultIn(text);
      fc.pre(fault !== undefined);
      const { before, character } = splitAt(text, fault);
      assert.ok(canBeContinued(before), "before the fault");
      if (character !== undefined) assert.ok(!canBeContinued(before + character), "with the character at the fault");
    }),
    { numRuns: 2_000 },
  );
});

function splitAt(text: string, { line, column }: NonNullable<ReturnType<typeof jsonFaultIn>>) {
  const lines = text.split("\n");
  const characters = [...lines.slice(line - 1).join("\n")];
  const before = [...lines.slice(0, line - 1), characters.slice(0, column - 1).join("")].join("\n");
  return { before, character: characters[column - 1] };
}

const restsOfString = ['"', 'n"', '0"', '00"', '000"', '0000"'].flatMap((rest) => [rest, `${rest}:0`]);
const restsOfWord = ["e", "ue", "rue", "se", "lse", "alse", "l", "ll", "ull"];
const rests = ["", "0", ":0", '"":0', ...restsOfString, ...restsOfWord];

/** By trial, to share no thought with the code: every token has a short rest, then what is open is closed. */
function canBeContinued(start: string): boolean {
  const closing = closingOf(start);
  return rests.some((rest) => parseJsonOrUndefined(start + rest + closing) !== undefined);
}

function closingOf(start: string): string {
  const outsideStrings = start.replace(/"(?:[^"\\]|\\.)*(?:"|\\?$)/gs, "");
  return [...outsideStrings].reduce((closing, character) => {
    if (character === "{") return `}${closing}`;
    if (character === "[") return `]${closing}`;
    return character === "}" || character === "]" ? closing.slice(1) : closing;
  }, "");
}
