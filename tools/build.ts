import { chmodSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const root = join(import.meta.dirname, "..");

/** Some packages inside still call `require`, which a module does not have. */
const banner = `import { createRequire as createRequireOf } from "node:module"; const require = createRequireOf(import.meta.url);`;

/** Bundles the program to plain JavaScript for Node 22 and up; what is imported lazily stays in files of its own. */
export async function buildProgram(outdir = join(root, "dist")): Promise<string> {
  rmSync(outdir, { recursive: true, force: true });
  await build({
    entryPoints: { latchkey: join(root, "src", "main.ts") },
    outdir,
    absWorkingDir: root,
    chunkNames: "chunks/[name]-[hash]",
    bundle: true,
    splitting: true,
    platform: "node",
    target: "node22",
    format: "esm",
    banner: { js: banner },
    legalComments: "eof",
    logLevel: "warning",
  });
  const program = join(outdir, "latchkey.js");
  chmodSync(program, 0o755);
  return program;
}

if (import.meta.main) process.stdout.write(`${await buildProgram()}\n`);
