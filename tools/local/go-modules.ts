import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const toolsDir = join(import.meta.dirname, "..");

export const binaryNames = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kubectl",
  "kube-scheduler",
  "kwok",
  "registry",
] as const;
export type BinaryName = (typeof binaryNames)[number];

/** How one binary is made and what it must say about itself. */
export interface Recipe {
  readonly name: BinaryName;
  /** The folder whose go.mod pins it. */
  readonly moduleDir: string;
  readonly package: string;
  readonly ldflags: string;
  /** What it must say when asked for its version. */
  readonly version: string;
  readonly versionArgs: readonly string[];
  /** Changes with everything that goes into the binary. */
  readonly key: string;
  /** On 2 cores with an empty cache; for the progress line only. */
  readonly aboutSeconds: number;
}

const aboutSeconds: Readonly<Record<BinaryName, number>> = {
  etcd: 110, // with the download of the modules
  "kube-apiserver": 172,
  "kube-controller-manager": 48,
  kubectl: 20,
  "kube-scheduler": 8,
  kwok: 67,
  registry: 59,
};

export function recipeOf(name: BinaryName): Recipe {
  if (name === "kwok") return testServer(name, "sigs.k8s.io/kwok", "sigs.k8s.io/kwok/cmd/kwok");
  if (name === "registry") {
    const module = "github.com/distribution/distribution/v3";
    return testServer(name, module, `${module}/cmd/registry`);
  }
  const moduleDir = join(toolsDir, "control-plane");
  const kubernetes = pinnedVersion(moduleDir, "k8s.io/kubernetes");
  const etcd = "go.etcd.io/etcd/server/v3";
  return {
    name,
    moduleDir,
    package: name === "etcd" ? etcd : `k8s.io/kubernetes/cmd/${name}`,
    ldflags: stampOf(kubernetes),
    version: name === "etcd" ? pinnedVersion(moduleDir, etcd).slice(1) : kubernetes,
    versionArgs: name === "kubectl" ? ["version", "--client"] : ["--version"],
    key: keyOf(moduleDir, kubernetes),
    aboutSeconds: aboutSeconds[name],
  };
}

function testServer(name: BinaryName, module: string, path: string): Recipe {
  const moduleDir = join(toolsDir, "test-servers");
  const version = pinnedVersion(moduleDir, module);
  return {
    name,
    moduleDir,
    package: path,
    ldflags: "-s -w",
    version,
    versionArgs: ["--version"],
    key: keyOf(moduleDir, `${name}-${version}`),
    aboutSeconds: aboutSeconds[name],
  };
}

/** Without the stamp `kubectl version` fails on its own server. */
function stampOf(version: string): string {
  const [major, minor] = version.slice(1).split(".");
  const stamps = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"].flatMap((path) => [
    `-X ${path}.gitVersion=${version}`,
    `-X ${path}.gitMajor=${major}`,
    `-X ${path}.gitMinor=${minor}`,
    `-X ${path}.gitTreeState=clean`,
  ]);
  return ["-s -w", ...stamps].join(" ");
}

export function pinnedVersion(moduleDir: string, module: string): string {
  const line = readFileSync(join(moduleDir, "go.mod"), "utf8")
    .split("\n")
    .map((text) => text.trim().split(/\s+/))
    .find(([first, second]) => first === module && second?.startsWith("v"));
  if (!line?.[1]) throw new Error(`${moduleDir}/go.mod pins no version of ${module}`);
  return line[1];
}

function keyOf(moduleDir: string, label: string): string {
  const hash = createHash("sha256");
  for (const file of ["go.mod", "go.sum"]) hash.update(readFileSync(join(moduleDir, file)));
  return `${label}-${process.platform}-${process.arch}-${hash.digest("hex").slice(0, 12)}`;
}
