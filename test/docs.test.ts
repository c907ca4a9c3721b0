import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { allCrds } from "../src/api/crds.ts";
import { targetStates } from "../src/api/secret-sync.ts";
import { sidecarSetStates } from "../src/api/sidecar-set.ts";
import { copyReasons } from "../src/features/clusters/standing.ts";
import { gravity } from "../src/features/secretsync/problems.ts";
import { gravity as sidecarsGravity } from "../src/features/sidecars/problems.ts";

const root = join(import.meta.dirname, "..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const isTheirs = (path: string) => path.includes("node_modules") || path.startsWith("dist");
const pages = globSync("**/*.md", { cwd: root, exclude: isTheirs });

test("every flag of every command is in docs/reference/operator.md", async () => {
  const reference = read("docs/reference/operator.md");
  for (const command of ["run", "crds", "status", "uninstall"]) {
    const main = join(root, "src", "main.ts");
    const { stdout } = await promisify(execFile)(process.execPath, [main, command, "--help"]);
    const flags = [...stdout.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, flag = ""]) => flag);
    assert.ok(flags.length > 3, stdout);
    for (const flag of flags.filter((name) => name !== "--help")) {
      assert.ok(reference.includes(`\`${flag}`), `${command} ${flag} is not described`);
    }
  }
});

test("every metric in the code is in docs/reference/operator.md, and no other", () => {
  const files = globSync("src/**/*.ts", { cwd: root }).filter((path) => !path.endsWith(".test.ts"));
  const sources = files.map(read).join("\n");
  const inCode = new Set([...sources.matchAll(/"(latchkey_[a-z_]+)"/g)].map(([, name]) => name));
  const inDocs = new Set(
    [...read("docs/reference/operator.md").matchAll(/^\| *`(latchkey_[a-z_]+)`/gm)].map(([, name]) => name),
  );
  assert.deepEqual([...inDocs].sort(), [...inCode].sort());
});

const ofConfigurations = "src/features/clusters/configuration-*.ts";
const kinds = [
  { kind: "SecretSync", sources: "src/features/secretsync/*.ts", words: [...gravity, ...targetStates, "Synced"] },
  { kind: "SidecarSet", sources: "src/features/sidecars/*.ts", words: [...sidecarsGravity, ...sidecarSetStates] },
  {
    kind: "Cluster",
    sources: "src/features/clusters/**/*.ts",
    exclude: [ofConfigurations],
    words: [...copyReasons, "Copied", "AmbiguousKubeconfig"],
  },
  { kind: "KubermaticConfiguration", sources: ofConfigurations, words: ["MalformedJSON", "NoAuths"] },
] as const;

for (const { kind, words, ...where } of kinds) {
  const page = `docs/reference/${kind.toLowerCase()}.md`;

  test(`every reason and state of a ${kind} is in ${page}`, () => {
    const reference = read(page);
    for (const word of new Set([...words, ...reasonsIn(where)])) {
      assert.ok(reference.includes(`\`${word}\``), `${word} is not explained`);
    }
  });

  test(`every field and column of a ${kind} is in ${page}`, () => {
    const reference = read(page);
    const { fields, columns } = crdOf(kind);
    for (const field of fields) assert.ok(reference.includes(`\`spec.${field}`), `spec.${field} is not explained`);
    for (const column of columns) assert.ok(reference.includes(`\`${column}\``), `${column} is not explained`);
  });
}

/** Written out where they are said, as the condition's or the event's reason. */
function reasonsIn({ sources, exclude = [] }: { sources: string; exclude?: readonly string[] }): readonly string[] {
  const files = globSync(sources, { cwd: root, exclude: [...exclude, "**/*.test.ts"] });
  const said = /(?:reason: |const reason = |\b(?:warning|normal|yes|no|unknown|valid|invalid)\(\s*)"(\w+)"/g;
  return files.flatMap((path) => [...read(path).matchAll(said)].map(([, reason = ""]) => reason));
}

function crdOf(kind: string): { readonly fields: readonly string[]; readonly columns: readonly string[] } {
  const version = allCrds.find(({ spec }) => spec.names.kind === kind)?.spec.versions[0];
  const schema = version?.schema.openAPIV3Schema as { properties: { spec: { properties: object } } } | undefined;
  return {
    fields: Object.keys(schema?.properties.spec.properties ?? {}),
    columns: version?.additionalPrinterColumns.map(({ name }) => name.toUpperCase()) ?? [],
  };
}

const orders = [
  { page: "docs/reference/secretsync.md", condition: "Sync", order: gravity },
  {
    page: "docs/reference/sidecarset.md",
    condition: "PullSecretsReady",
    order: sidecarsGravity.filter((reason) => reason !== "InvalidContainers" && reason !== "NameConflict"),
  },
  { page: "docs/reference/cluster.md", condition: "PullSecretsReady", order: ["InvalidReferences", ...copyReasons] },
] as const;

for (const { page, condition, order } of orders) {
  test(`the table of reasons of ${condition} is in the order of their gravity`, () => {
    const [, table = ""] = new RegExp(`### Condition \`${condition}\`([\\s\\S]*?)### `).exec(read(page)) ?? [];
    const rows = [...table.matchAll(/^\| *False *\| *`(\w+)`/gm)].map(([, reason]) => reason);
    assert.deepEqual(rows, order);
  });
}

for (const page of pages) {
  test(`links in ${page} lead somewhere`, () => {
    for (const link of linksIn(read(page))) {
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? join(root, page) : join(root, dirname(page), path);
      assert.ok(existsSync(target), `${link} does not exist`);
      if (anchor && target.endsWith(".md")) {
        const headings = anchorsIn(readFileSync(target, "utf8"));
        assert.ok(headings.includes(anchor), `${link}: there is no such heading, only ${headings.join(", ")}`);
      }
    }
  });
}

test("no page tells of the machine it was written on", () => {
  for (const page of pages) assert.doesNotMatch(read(page), /\/(?:home|root|Users|work)\/\w|\/tmp\/\w/, page);
});

function linksIn(text: string): readonly string[] {
  const prose = text.replaceAll(/^ *```[\s\S]*?^ *```/gm, "").replaceAll(/`[^`\n]*`/g, "code");
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link).filter((link) => !/^[a-z]+:/.test(link));
}

/** As GitHub makes them from headings. */
function anchorsIn(text: string): readonly string[] {
  const prose = text.replaceAll(/^ *```[\s\S]*?^ *```/gm, "");
  return [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}
