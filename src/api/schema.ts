import Type, { type Static, type TSchema } from "typebox";
import { label, subdomain } from "./dns-names.ts";

/** A rule of the CRD in CEL; `namespace` is a reserved word there: write `__namespace__`. */
interface CelRule {
  readonly rule: string;
  readonly message: string;
}

export const rules = (...list: CelRule[]) => ({ "x-kubernetes-validations": list });
export const listMap = (...keys: string[]) => ({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys });

/** One of a few words. TypeBox would write `anyOf` of constants, which is not a structural schema. */
export function words<const W extends readonly string[]>(list: W, options: object = {}) {
  return Type.Unsafe<W[number]>({ type: "string", enum: list, ...options });
}

export const dnsLabel = (description: string) =>
  Type.String({ description, minLength: 1, maxLength: 63, pattern: `^${label}$` });
export const dnsSubdomain = (description: string) =>
  Type.String({ description, minLength: 1, maxLength: 253, pattern: `^${subdomain}$` });

export const secretRef = (description: string) =>
  Type.Object(
    { namespace: dnsLabel("Namespace of the Secret."), name: dnsSubdomain("Name of the Secret.") },
    { description },
  );

export const conditions = Type.Array(
  Type.Object({
    type: Type.String({ description: "What this condition is about.", maxLength: 316 }),
    status: words(["True", "False", "Unknown"], { description: "Whether it holds." }),
    reason: Type.String({ description: "Why, in one word.", maxLength: 1024 }),
    message: Type.String({ description: "Why, for people.", maxLength: 32768 }),
    observedGeneration: Type.Optional(
      Type.Integer({ description: "The generation of the object this was said about.", minimum: 0 }),
    ),
    lastTransitionTime: Type.String({ description: "When the status last changed.", format: "date-time" }),
  }),
  { description: "What is true now, for which generation, and why.", ...listMap("type") },
);

/** What a schema says about a type, as the API server wants it: a field with a default is not required. */
export function structural(schema: TSchema): object {
  return JSON.parse(JSON.stringify(schema), (_key, value) => {
    if (!value?.properties || !value.required) return value;
    const required = value.required.filter((name: string) => value.properties[name]?.default === undefined);
    const { required: _all, ...rest } = value;
    return required.length > 0 ? { ...rest, required } : rest;
  });
}

export type { Static };
export { Type };
