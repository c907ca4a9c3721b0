import assert from "node:assert/strict";
import { test } from "node:test";
import { renderStatus } from "./render-status.ts";

const report = {
  server: "127.0.0.1:6443",
  operator: { namespace: "latchkey-system", leader: "a", renewed: "2026-01-01T00:00:00.000000Z" },
  features: [
    {
      name: "secretsync",
      mode: "instead",
      kinds: [{ name: "secretsyncs.package-operator.run", crd: "stand-in" as const }],
      counts: [
        { what: "SecretSyncs", count: 2 },
        { what: "copies", count: 5 },
      ],
    },
  ],
  webhooks: [
    { name: "latchkey-secretsync", kind: "validating", leadsTo: "https://127.0.0.1:9443/validate/secretsyncs" },
  ],
  problems: [{ object: "SecretSync/one", reason: "Conflict", message: "team-a/db is held by an unmanaged Secret" }],
};

test("the status is four tables", () => {
  assert.equal(
    renderStatus(report),
    `CLUSTER    127.0.0.1:6443
NAMESPACE  latchkey-system
LEADER     a, renewed 2026-01-01T00:00:00.000000Z

FEATURE     MODE     KIND                              CRD       COUNTS
secretsync  instead  secretsyncs.package-operator.run  stand-in  2 SecretSyncs, 5 copies

WEBHOOK              KIND        LEADS TO
latchkey-secretsync  validating  https://127.0.0.1:9443/validate/secretsyncs

PROBLEM         REASON    MESSAGE
SecretSync/one  Conflict  team-a/db is held by an unmanaged Secret
`,
  );
});

test("nothing wrong is said as well", () => {
  const quiet = renderStatus({ ...report, webhooks: [], problems: [] });
  assert.match(quiet, /No webhooks are registered\.\n\nNo problems\.\n$/u);
});
