import { type Ref, type Secret, secrets } from "../api/objects.ts";
import type { Call, Kube } from "../kube/client.ts";
import { ApiError, isDenied, isNamespaceTerminating, missingVerbOf } from "../kube/errors.ts";
import { parseJsonOrUndefined } from "../kube/json.ts";

export type Data = Readonly<Record<string, string>>;

/** Shorter values cannot be told from ordinary words. */
const shortest = 3;

/** Takes every value of these Secrets, plain or base64, and what is inside of pull secrets out of a text. */
export function redact(text: string, ...contents: readonly Data[]): string {
  const needles = new Set(contents.flatMap((data) => Object.values(data).flatMap(formsOf)));
  // Longest first: a value inside another one must not split it.
  const ordered = [...needles].filter((needle) => needle.length >= shortest).sort((a, b) => b.length - a.length);
  return ordered.reduce((rest, needle) => rest.replaceAll(needle, "[redacted]"), text);
}

function formsOf(base64: string): readonly string[] {
  const plain = Buffer.from(base64, "base64").toString("utf8");
  const lines = plain.split(/\r?\n/).map((line) => line.trim());
  const parts = textsIn(parseJsonOrUndefined(plain)).flatMap((text) => [text, quoted(text)]);
  return [base64, base64.replace(/=+$/, ""), plain, plain.trim(), quoted(plain), ...lines, ...parts];
}

const quoted = (text: string): string => JSON.stringify(text).slice(1, -1);

/** Deeper than any pull secret. */
const maxDepth = 8;

/** A pull secret is JSON: whoever refuses it may have read it, and quote one password. */
function textsIn(value: unknown, depth = 0): readonly string[] {
  if (typeof value === "string") return [value, ...credentialsIn(value)];
  if (typeof value !== "object" || value === null || depth === maxDepth) return [];
  return Object.values(value).flatMap((part) => textsIn(part, depth + 1));
}

/** `user:password` in base64 is how it keeps them. */
function credentialsIn(text: string): readonly string[] {
  const plain = Buffer.from(text, "base64").toString("utf8");
  const [, password] = /^[^:]+:(.+)$/s.exec(plain) ?? [];
  return password === undefined ? [] : [plain, password];
}

/**
 * Runs a write to a Secret. Whoever refuses it may quote what was sent or what is there, in words that reach status,
 * events and logs: every value is taken out of them here, and where the present values cannot be read, all the words.
 */
export async function withoutQuotes<T>(
  kube: Kube,
  ref: Ref,
  sent: Data,
  call: Call,
  write: () => Promise<T>,
): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!mayQuote(error)) throw error;
    const present = await presentData(kube, ref, call);
    throw reworded(error, (text) => (present ? redact(text, sent, present) : withoutWords(text)));
  }
}

async function presentData(kube: Kube, ref: Ref, { signal }: Call): Promise<Data | undefined> {
  try {
    return (await kube.get<Secret>(secrets, ref, { signal }))?.data ?? {};
  } catch {
    return undefined;
  }
}

const ownWords = ["Conflict", "NotFound", "AlreadyExists", "TooManyRequests", "Unauthorized"];

/** The API server's own refusals name objects and rights; those of webhooks and policies may say anything. */
function mayQuote(error: unknown): error is ApiError {
  if (isDenied(error)) return true;
  if (!(error instanceof ApiError) || ownWords.includes(error.reason)) return false;
  return !isNamespaceTerminating(error) && missingVerbOf(error) === undefined;
}

/** Who refused stays, what they said goes. */
function withoutWords(text: string): string {
  const [who] = /^.*?denied (the )?request/s.exec(text) ?? [];
  return who ? `${who} (its words are left out)` : "the write was refused (the words are left out)";
}

function reworded(error: ApiError, words: (text: string) => string): ApiError {
  const { status, reason, details, retryAfterMs } = error;
  const causes = error.causes.map(({ message, ...cause }) => ({
    ...cause,
    ...(message && { message: words(message) }),
  }));
  return new ApiError(words(error.message), { status, reason, details, retryAfterMs, causes });
}
