import { open, stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { secrets } from "../api/objects.ts";
import type { Kube } from "../kube/client.ts";
import { testEnvironment, uniqueName } from "./cluster.ts";

/** One finished request that was no read, as the API server's audit log has it. */
export interface Write {
  readonly verb: string;
  readonly userAgent: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly code: number;
  readonly at: string;
}

interface AuditEvent {
  readonly stage?: string;
  readonly verb?: string;
  readonly requestURI?: string;
  readonly userAgent?: string;
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp?: string;
}

const writeVerbs = new Set(["create", "update", "patch", "delete", "deletecollection"]);

/** Of another API server than the one that tests share: the path of its log. */
interface Log {
  readonly log?: string | undefined;
}

/**
 * The writes of the operator (and nobody else's) since `from`, up to a write made now: the log is complete once it
 * holds that one. Access reviews, Events and Leases are no writes, nor are dry runs.
 */
export async function operatorWrites(
  kube: Kube,
  namespace: string,
  { from = 0, log = sharedLog() }: Log & { readonly from?: number } = {},
): Promise<readonly Write[]> {
  const text = await readUntilNow(kube, namespace, { from, log });
  return text.split("\n").flatMap((line) => {
    const write = writeOf(line);
    return write && isOperators(write) ? [write] : [];
  });
}

/** Where the log ends now, for `from`. */
export async function auditPosition(kube: Kube, namespace: string, { log = sharedLog() }: Log = {}): Promise<number> {
  const { size: from } = await stat(log);
  return from + Buffer.byteLength(await readUntilNow(kube, namespace, { from, log }));
}

const sharedLog = (): string => testEnvironment("LATCHKEY_TEST_AUDIT_LOG");

/** The log from this byte on; it grows to many megabytes, so what was read is not read again. */
async function readUntilNow(
  kube: Kube,
  namespace: string,
  { from, log }: { readonly from: number; readonly log: string },
): Promise<string> {
  const marker = uniqueName("marker");
  await kube.create(secrets, { metadata: { namespace, name: marker } });
  await kube.delete(secrets, { namespace, name: marker });
  const lastLine = new RegExp(`^.*"verb":"delete".*${marker}.*\n`, "m");
  await using file = await open(log);
  let read = Buffer.alloc(0);
  for (const deadline = performance.now() + 60_000; ; await sleep(50)) {
    const { size } = await file.stat();
    const { buffer, bytesRead } = await file.read({
      buffer: Buffer.alloc(size - from - read.length),
      position: from + read.length,
    });
    read = Buffer.concat([read, buffer.subarray(0, bytesRead)]);
    const text = read.toString();
    const end = lastLine.exec(text);
    if (end) return text.slice(0, end.index + end[0].length);
    if (performance.now() > deadline) throw new Error("the audit log does not show a write made a minute ago");
  }
}

function writeOf(line: string): Write | undefined {
  if (!line) return undefined;
  const event = JSON.parse(line) as AuditEvent;
  if (event.stage !== "ResponseComplete" || !writeVerbs.has(event.verb ?? "")) return undefined;
  if (/[?&]dryRun=/.test(event.requestURI ?? "")) return undefined;
  const { resource = "", subresource = "", namespace = "", name = "" } = event.objectRef ?? {};
  if (["events", "leases", "subjectaccessreviews", "selfsubjectaccessreviews"].includes(resource)) return undefined;
  return {
    verb: event.verb ?? "",
    userAgent: event.userAgent ?? "",
    resource,
    subresource,
    namespace,
    name,
    code: event.responseStatus?.code ?? 0,
    at: event.requestReceivedTimestamp ?? "",
  };
}

const isOperators = ({ userAgent }: Write) => userAgent.startsWith("latchkey/");
