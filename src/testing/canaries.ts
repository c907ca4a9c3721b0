import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { base64 } from "./objects.ts";

/** Every value that must be seen nowhere. */
const canaries: string[] = [];

/** Nobody else's, and of no use to anybody. */
export function newCanary(): string {
  const canary = `canary${randomBytes(12).toString("hex")}`;
  addCanary(canary);
  return canary;
}

export function addCanary(value: string): void {
  canaries.push(value);
}

/** Every form in which a careless line could show a value: plain, in base64, in the base64 of something around it. */
export function formsOf(canary: string): string[] {
  return [canary, Buffer.from(canary).toString("hex"), ...innerBase64(canary)];
}

/** The first and last characters of an inner piece depend on its neighbours. */
const innerBase64 = (value: string): string[] =>
  ["", "x", "xx"].map((before) => base64(`${before}${value}`).replace(/=+$/, "").slice(4, -4));

/** A pull secret holds a password in base64, and the whole of it is in base64 again. */
export const allForms = (): string[] => canaries.flatMap((canary) => [canary, ...innerBase64(canary)].flatMap(formsOf));

export function assertNowhere(shown: Readonly<Record<string, string>>, forms: readonly string[] = allForms()): void {
  for (const form of forms) {
    for (const [where, text] of Object.entries(shown)) {
      const at = text.indexOf(form);
      assert.equal(at, -1, `${where} shows ${form}: ${text.slice(Math.max(0, at - 300), at + 100)}`);
    }
  }
}
