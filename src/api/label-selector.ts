import { subdomain } from "./dns-names.ts";
import { rules, Type, words } from "./schema.ts";

export const selectorOperators = ["In", "NotIn", "Exists", "DoesNotExist"] as const;

export interface LabelRequirement {
  readonly key: string;
  readonly operator: (typeof selectorOperators)[number];
  readonly values?: readonly string[];
}

/** As in Kubernetes: all of it must hold. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly LabelRequirement[];
}

const word = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";
const keyPattern = `^(${subdomain}/)?${word}$`;
const longestKey = 253 + 1 + 63;
const hasShortPrefix = (key: string) => `${key}.indexOf('/') <= 253`;

const labelValue = (description: string) => Type.String({ description, maxLength: 63, pattern: `^(${word})?$` });

const matchLabels = Type.Unsafe<Readonly<Record<string, string>>>({
  type: "object",
  description: "Labels and the values they must have.",
  additionalProperties: labelValue("The value of the label."),
  maxProperties: 32,
  ...rules({
    rule: `self.all(key, key.matches(r'${keyPattern}') && ${hasShortPrefix("key")})`,
    message: "every key must be a label key: [prefix/]name",
  }),
});

const requirement = Type.Object(
  {
    key: Type.String({ description: "Key of the label.", minLength: 1, maxLength: longestKey, pattern: keyPattern }),
    operator: words(selectorOperators, { description: "How the label is compared with the values." }),
    values: Type.Optional(
      Type.Array(labelValue("One value."), {
        description: "Values for In and NotIn; none for the others.",
        maxItems: 64,
      }),
    ),
  },
  rules(
    { rule: hasShortPrefix("self.key"), message: "the prefix of a key may be at most 253 characters" },
    {
      rule: "!(self.operator in ['In', 'NotIn']) || (has(self.values) && size(self.values) > 0)",
      message: "In and NotIn need values",
    },
    {
      rule: "self.operator in ['In', 'NotIn'] || !has(self.values) || size(self.values) == 0",
      message: "Exists and DoesNotExist take no values",
    },
  ),
);

/** One that says something: an empty selector would select everything. */
export const labelSelector = (description: string) =>
  Type.Unsafe<LabelSelector>(
    Type.Object(
      {
        matchLabels: Type.Optional(matchLabels),
        matchExpressions: Type.Optional(
          Type.Array(requirement, { description: "Conditions on labels; all must hold.", maxItems: 32 }),
        ),
      },
      {
        description,
        ...rules({
          rule: "(has(self.matchLabels) ? size(self.matchLabels) : 0) + (has(self.matchExpressions) ? size(self.matchExpressions) : 0) > 0",
          message: "must not be empty: give matchLabels or matchExpressions",
        }),
      },
    ),
  );
