import type { StatusReport } from "./status.ts";
import { renderTable } from "./table.ts";

export function renderStatus(report: StatusReport): string {
  const { operator, features, webhooks, problems } = report;
  const leader = operator.leader ? `${operator.leader}, renewed ${operator.renewed ?? "never"}` : "none";
  const parts = [
    renderTable(
      ["CLUSTER", report.server],
      [
        ["NAMESPACE", operator.namespace],
        ["LEADER", leader],
      ],
    ),
    renderTable(
      ["FEATURE", "MODE", "KIND", "CRD", "COUNTS"],
      features.flatMap(({ name, mode, kinds, counts }) =>
        kinds.map((kind, index) => {
          const first = index === 0;
          const tally = counts.map(({ what, count }) => `${count} ${what}`).join(", ");
          return [first ? name : "", first ? mode : "", kind.name, kind.crd, first ? tally : ""];
        }),
      ),
    ),
    ...features.flatMap(({ table }) =>
      table && table.rows.length > 0 ? [renderTable(table.columns, table.rows)] : [],
    ),
    webhooks.length > 0
      ? renderTable(
          ["WEBHOOK", "KIND", "LEADS TO"],
          webhooks.map(({ name, kind, leadsTo }) => [name, kind, leadsTo]),
        )
      : "No webhooks are registered.\n",
    problems.length > 0
      ? renderTable(
          ["PROBLEM", "REASON", "MESSAGE"],
          problems.map(({ object, reason, message }) => [object, reason, message]),
        )
      : "No problems.\n",
  ];
  return parts.join("\n");
}
