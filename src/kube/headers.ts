import type { Connection, Impersonation } from "./connection.ts";

type RequestHeaders = Record<string, string | string[]>;

/** What every request to a cluster carries besides its own headers: who asks. */
export async function identityHeaders({ authorization, impersonate }: Connection): Promise<RequestHeaders> {
  const bearer = await authorization();
  return { ...(bearer && { authorization: bearer }), ...(impersonate && impersonationHeaders(impersonate)) };
}

function impersonationHeaders({ user, uid, groups = [], extra = {} }: Impersonation): RequestHeaders {
  const extras = Object.entries(extra).map(([name, values]) => [
    `impersonate-extra-${encodeURIComponent(name.toLowerCase())}`,
    [...values],
  ]);
  return {
    "impersonate-user": user,
    ...(uid && { "impersonate-uid": uid }),
    ...(groups.length > 0 && { "impersonate-group": [...groups] }),
    ...Object.fromEntries(extras),
  };
}
