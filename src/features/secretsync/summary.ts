import { secretSyncs } from "../../api/kinds.ts";
import type { SecretSync } from "../../api/secret-sync.ts";
import type { Call, Kube } from "../../kube/client.ts";
import type { Summary } from "../feature.ts";

export async function summarise(kube: Kube, call: Call): Promise<Summary> {
  const syncs = await kube.list<SecretSync>(secretSyncs, {}, call);
  const targets = syncs.flatMap((sync) => sync.status?.targets ?? []);
  return {
    counts: [
      { what: "SecretSyncs", count: syncs.length },
      { what: "copies", count: targets.filter(({ state }) => state === "Synced").length },
    ],
    problems: syncs.flatMap(({ metadata, status, spec }) => {
      const sync = status?.conditions?.find(({ type }) => type === "Sync");
      if (spec.paused || sync?.status === "True") return [];
      const object = `${secretSyncs.kind}/${metadata.name}`;
      return [
        { object, reason: sync?.reason ?? "Unseen", message: sync?.message ?? "no operator has looked at it yet" },
      ];
    }),
  };
}
