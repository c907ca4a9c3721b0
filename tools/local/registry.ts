import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";

/** Writes the configuration of the OCI registry and returns its path. */
export function registryConfig(dir: string, port: number): string {
  const path = join(dir, "registry.yaml");
  const config = {
    version: 0.1,
    log: { level: "warn", accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: join(dir, "registry") }, delete: { enabled: true } },
    http: { addr: `127.0.0.1:${port}`, secret: "not-a-secret: one instance on loopback" },
  };
  writeFileSync(path, stringify(config));
  return path;
}
