import assert from "node:assert/strict";
import { test } from "node:test";
import { type ConfigVerdict, judgeDockerConfig } from "./docker-config.ts";

const notSet: ConfigVerdict = { kind: "not-set" };
const valid: ConfigVerdict = { kind: "valid" };
const noAuths: ConfigVerdict = { kind: "no-auths" };
const malformed = (line: number, column: number): ConfigVerdict => ({ kind: "malformed", line, column });

const cases: readonly { name: string; text: string | undefined; verdict: ConfigVerdict }[] = [
  { name: "absent", text: undefined, verdict: notSet },
  { name: "empty", text: "", verdict: notSet },

  { name: "one registry", text: '{"auths":{"ghcr.io":{"auth":"dTpw"}}}', verdict: valid },
  { name: "two registries", text: '{"auths":{"ghcr.io":{"auth":"dTpw"},"quay.io":{}}}', verdict: valid },
  { name: "an entry without credentials", text: '{"auths":{"ghcr.io":{}}}', verdict: valid },
  { name: "more than auths", text: '{"credsStore":"pass","auths":{"ghcr.io":{}}}', verdict: valid },
  { name: "blanks around it", text: '\n{ "auths": { "ghcr.io": {} } }\n', verdict: valid },
  { name: "a registry named like a prototype", text: '{"auths":{"__proto__":{}}}', verdict: valid },

  { name: "a blank alone", text: "\n", verdict: malformed(2, 1) },
  { name: "a trailing comma", text: '{"auths":{\n  "ghcr.io": {},\n}}', verdict: malformed(3, 1) },
  { name: "cut short", text: '{"auths":{"ghcr.io":{}}', verdict: malformed(1, 24) },
  { name: "base64 once too often", text: "eyJhdXRocyI6e319", verdict: malformed(1, 1) },
  { name: "a byte order mark", text: '\ufeff{"auths":{"ghcr.io":{}}}', verdict: malformed(1, 1) },

  { name: "null", text: "null", verdict: noAuths },
  { name: "a string", text: '"auths"', verdict: noAuths },
  { name: "an array", text: '[{"auths":{"ghcr.io":{}}}]', verdict: noAuths },
  { name: "an empty object", text: "{}", verdict: noAuths },
  { name: "the old format, registries at the top", text: '{"ghcr.io":{"auth":"dTpw"}}', verdict: noAuths },
  { name: "auths by another spelling", text: '{"Auths":{"ghcr.io":{}}}', verdict: noAuths },
  { name: "auths through a prototype", text: '{"__proto__":{"auths":{"ghcr.io":{}}}}', verdict: noAuths },
  { name: "auths is null", text: '{"auths":null}', verdict: noAuths },
  { name: "auths is an array", text: '{"auths":[{"auth":"dTpw"}]}', verdict: noAuths },
  { name: "auths is a string", text: '{"auths":"ghcr.io"}', verdict: noAuths },
  { name: "auths is empty", text: '{"auths":{}}', verdict: noAuths },
  { name: "an entry is null", text: '{"auths":{"ghcr.io":{},"quay.io":null}}', verdict: noAuths },
  { name: "an entry is an array", text: '{"auths":{"ghcr.io":[]}}', verdict: noAuths },
  { name: "an entry is a string", text: '{"auths":{"ghcr.io":"dTpw"}}', verdict: noAuths },
  { name: "an entry named like a prototype is a string", text: '{"auths":{"__proto__":"dTpw"}}', verdict: noAuths },
  { name: "of two auths the last counts", text: '{"auths":{"ghcr.io":{}},"auths":{}}', verdict: noAuths },
];

for (const { name, text, verdict } of cases) {
  test(`judgeDockerConfig: ${name}`, () => assert.deepEqual(judgeDockerConfig(text), verdict));
}
