import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";

/** What it takes to speak to one of our servers; the loopback ones without TLS need none of it. */
export interface Identity {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

export interface Answer {
  readonly status: number;
  readonly body: string;
}

export interface Question {
  readonly method?: string;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * One request on a connection of its own: these tools speak to servers that are just starting or about to end, where a pool only hides
 * what is going on.
 */
export function ask(url: string, identity: Identity = {}, question: Question = {}): Promise<Answer> {
  const { method = "GET", body, contentType = "application/json", signal } = question;
  const send = url.startsWith("https:") ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { "content-type": contentType };
    const request = send(url, { method, headers, agent: false, timeout: 10_000, signal, ...identity }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") }),
      );
    });
    request.on("timeout", () => request.destroy(new Error(`${method} ${url}: no answer within 10 s`)));
    request.on("error", reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Like `ask`, for JSON; an answer that is no success is thrown with the server's words. */
export async function askJson<T>(url: string, identity: Identity, question: Question = {}): Promise<T> {
  const answer = await ask(url, identity, question);
  if (answer.status >= 300) {
    throw new Error(`${question.method ?? "GET"} ${new URL(url).pathname}: ${answer.status} ${messageOf(answer.body)}`);
  }
  return JSON.parse(answer.body) as T;
}

function messageOf(body: string): string {
  try {
    return (JSON.parse(body) as { message?: string }).message ?? "";
  } catch {
    return body.slice(0, 200);
  }
}
