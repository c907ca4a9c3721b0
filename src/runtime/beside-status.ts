import type { Condition } from "../api/objects.ts";
import { cut } from "./cut.ts";

const maxBytes = 4_096;
const messageLengths = [Number.POSITIVE_INFINITY, 1_024, 512, 256, 128, 64];

/** What is told on an original project's object. */
interface Told {
  readonly conditions?: readonly Condition[];
  readonly imagePullSecrets?: readonly object[];
}

/** As JSON that fits into the annotation: first messages are shortened, then references left out from the end. */
export function encodeStatus(status: Told): string {
  const shortened = messageLengths.map((length) => JSON.stringify(withMessages(status, length)));
  return shortened.find(fits) ?? fewerReferences(withMessages(status, 64));
}

const fits = (text: string): boolean => Buffer.byteLength(text) <= maxBytes;

function withMessages(status: Told, length: number): Told {
  const { conditions = [] } = status;
  return { ...status, conditions: conditions.map((each) => ({ ...each, message: cut(each.message, length) })) };
}

function fewerReferences(status: Told): string {
  const { imagePullSecrets = [] } = status;
  const text = JSON.stringify(status);
  if (imagePullSecrets.length === 0 || fits(text)) return text;
  return fewerReferences({ ...status, imagePullSecrets: imagePullSecrets.slice(0, -1) });
}
