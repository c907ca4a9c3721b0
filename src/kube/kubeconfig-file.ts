import { isAbsolute, resolve } from "node:path";
import { type Document, parseDocument } from "yaml";
import { isRecord, stringOf } from "./json.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A kubeconfig cannot be used. The message names the entry and never quotes the text, which holds credentials. */
export class KubeconfigError extends Error {
  override readonly name = "KubeconfigError";
}

/** Contexts, clusters and users by name; relative paths are made absolute. */
export interface KubeconfigFile {
  readonly currentContext: string | undefined;
  readonly contexts: ReadonlyMap<string, Fields>;
  readonly clusters: ReadonlyMap<string, Fields>;
  readonly users: ReadonlyMap<string, Fields>;
}

const pathFields = ["certificate-authority", "client-certificate", "client-key", "tokenFile"];

/** `dir` is what relative paths in the text are relative to. */
export function parseKubeconfig(text: string, { dir }: { readonly dir: string }): KubeconfigFile {
  // Its warnings quote the text, on stderr.
  const document = parseDocument(text, { prettyErrors: false, logLevel: "error" });
  const [problem] = document.errors;
  if (problem) throw new KubeconfigError(`the kubeconfig is not valid YAML (${problem.code})`);
  const content = contentOf(document);
  if (!isRecord(content)) throw new KubeconfigError("the kubeconfig is not a YAML mapping");
  return {
    currentContext: stringOf(content["current-context"]) || undefined,
    contexts: namedEntries(content.contexts, "context", dir),
    clusters: namedEntries(content.clusters, "cluster", dir),
    users: namedEntries(content.users, "user", dir),
  };
}

/** Aliases are resolved only here: to nothing, or to far too much. */
function contentOf(document: Document): unknown {
  try {
    return document.toJS();
  } catch {
    throw new KubeconfigError("the kubeconfig is not valid YAML (BAD_ALIAS)");
  }
}

/** As kubectl does it: for each name, and for the current context, the first file that has it wins. */
export function mergeKubeconfigs(files: readonly KubeconfigFile[]): KubeconfigFile {
  const merged = (part: "contexts" | "clusters" | "users") =>
    new Map(files.toReversed().flatMap((file) => [...file[part]]));
  return {
    currentContext: files.find((file) => file.currentContext)?.currentContext,
    contexts: merged("contexts"),
    clusters: merged("clusters"),
    users: merged("users"),
  };
}

function namedEntries(list: unknown, field: string, dir: string): ReadonlyMap<string, Fields> {
  if (list === undefined || list === null) return new Map();
  if (!Array.isArray(list)) throw new KubeconfigError(`${field}s of the kubeconfig is not a list`);
  return new Map(
    list.map((entry, index) => {
      const name = isRecord(entry) ? stringOf(entry.name) : undefined;
      if (!isRecord(entry) || !name) throw new KubeconfigError(`${field} ${index + 1} of the kubeconfig has no name`);
      const content = entry[field];
      return [name, withAbsolutePaths(isRecord(content) ? content : {}, dir)];
    }),
  );
}

function withAbsolutePaths(fields: Fields, dir: string): Fields {
  const changed: Record<string, unknown> = { ...fields };
  for (const field of pathFields) {
    const path = stringOf(fields[field]);
    if (path) changed[field] = resolve(dir, path);
  }
  const command = isRecord(fields.exec) ? stringOf(fields.exec.command) : undefined;
  // A bare name is looked up on the PATH, as a shell would.
  if (isRecord(fields.exec) && command?.includes("/") && !isAbsolute(command)) {
    changed.exec = { ...fields.exec, command: resolve(dir, command) };
  }
  return changed;
}
