import { namespaceOf } from "../api/objects.ts";
import { isTransient } from "../kube/errors.ts";
import { span } from "../kube/trace.ts";
import type { CopyResult } from "../replication/ensure.ts";
import type { Outcome } from "../runtime/outcome.ts";
import { collect } from "./collect.ts";
import { decide } from "./decide.ts";
import { type Found, findSource, unreadable } from "./find.ts";
import { followSource, unfollowSource } from "./follow.ts";
import { isReady } from "./ground.ts";
import { copiesOf } from "./ours.ts";
import { revoke } from "./remove.ts";
import type { Report } from "./report.ts";
import { serve } from "./serve.ts";
import type { SourcePass } from "./source-pass.ts";
import { reading } from "./troubles.ts";

/** Failures to read a source in a row. */
const patience = 3;

type Ending = Pick<Outcome, "recheckAfterMs" | "retry">;

interface Done {
  readonly places?: Report["places"];
  readonly results?: readonly CopyResult[];
  /** Copies that were told of are gone. */
  readonly isRevoked?: boolean;
  readonly recheckAfterMs?: number | undefined;
}

/** Refusals of earlier passes that are due are tried again by this one, or dropped. */
export async function passOver(at: SourcePass): Promise<Ending> {
  const { troubles, key } = at;
  const due = troubles.dueOf(key);
  const { recheckAfterMs, retry } = await actOn(at);
  troubles.dropUntried(key, due);
  return { recheckAfterMs: earliest(recheckAfterMs, troubles.nextDueMs(key)), retry };
}

/** Finds the source, decides what becomes of its copies, does it, and follows the source for the next time. */
async function actOn(at: SourcePass): Promise<Ending> {
  if (isNobodys(at)) return leave(at);

  const found = await find(at);
  noteReading(found, at);
  const { places = new Map(), results = [], isRevoked = false, recheckAfterMs } = await dealWith(found, at);
  at.propagation.end(at.key, at.askers.featureOf(at.key), results);
  if (isNobodys(at)) return leave(at);

  const isNews = at.memory.reports.set(at.key, { state: found.state, places, ...leftoversOf(places, at) });
  if (isNews || isRevoked) at.askers.tell(at.key);
  if (!at.home) await followSource(found, at);
  const isUnfinished = results.some(({ kind }) => kind === "unfinished");
  return { recheckAfterMs, retry: found.isFailure || isUnfinished || hasComeMeanwhile(places, results, at) };
}

/** The first failures to read a source are only tried again; one that goes on is told of. */
async function find(at: SourcePass): Promise<Found> {
  const { source, key, replication, kube, home = kube, memory } = at;
  try {
    const found = await span("resolve", { source: key }, () => findSource(source, replication, home, at));
    memory.countReading(key, false);
    return found;
  } catch (error) {
    if (!(error instanceof Error && isTransient(error)) || memory.countReading(key, true) < patience) throw error;
    return { ...unreadable(error), isFailure: true };
  }
}

async function dealWith(found: Found, at: SourcePass): Promise<Done> {
  const { source, key, askers, memory } = at;
  const { state, record } = found;
  const isRetained = askers.retains(key);
  // Copies that outlive their source have their moment once nobody wants that any more.
  const missingForMs = memory.missingForMs(key, state.kind === "missing" && !isRetained);
  const hasCopies = copiesOf(source, at).length > 0;
  const facts = { isListed: askers.lists(key), isRetained, isHeld: askers.holds(key), hasCopies, missingForMs };
  const decision = decide({ state, ...facts });
  switch (decision.kind) {
    case "serve": {
      const wanted = askers.wanted(key);
      const served = await serve(record!, wanted, at);
      return { ...served, recheckAfterMs: await collect(wanted, at) };
    }
    case "collect":
      return { recheckAfterMs: await collect(askers.wanted(key), at) };
    case "wait":
      return { recheckAfterMs: decision.forMs };
    case "revoke":
      await revoke(at);
      return { isRevoked: hasCopies };
  }
}

/** A namespace that comes wakes those who are known to wait for it, and this pass was not until now. */
function hasComeMeanwhile(places: Report["places"], results: readonly CopyResult[], at: SourcePass): boolean {
  const isGoing = ({ kind }: CopyResult) => kind === "namespace-terminating";
  const going = new Set(results.filter(isGoing).map(({ target }) => target.namespace));
  return places
    .entries()
    .some(([namespace, { kind }]) => kind === "pending" && !going.has(namespace) && isReady(namespace, at));
}

/** What was refused long ago may be gone meanwhile, or wanted again. */
function leftoversOf(places: Report["places"], { source, key, troubles, ...at }: SourcePass): Partial<Report> {
  const there = new Set(copiesOf(source, at).map(namespaceOf));
  const isLeft = ([namespace]: readonly [string, unknown]) => there.has(namespace) && !places.has(namespace);
  const leftovers = [...troubles.keptIn(key)].filter(isLeft);
  return leftovers.length > 0 ? { leftovers: new Map(leftovers) } : {};
}

/** Not listed any more, and the last copy is gone. */
const isNobodys = (at: SourcePass): boolean => !at.askers.lists(at.key) && copiesOf(at.source, at).length === 0;

async function leave(at: SourcePass): Promise<Ending> {
  at.propagation.end(at.key, at.askers.featureOf(at.key), []);
  if (at.memory.forget(at.key)) at.askers.tell(at.key);
  if (!at.home) await unfollowSource(at);
  return {};
}

function noteReading({ state, isFailure }: Found, { troubles, key }: SourcePass): void {
  if (state.kind !== "unreadable" || isFailure) troubles.clear(key, reading);
  else troubles.note(key, reading, { verb: "read", place: { kind: "refused", message: state.message }, name: "" });
}

function earliest(...times: readonly (number | undefined)[]): number | undefined {
  const given = times.filter((time) => time !== undefined);
  return given.length > 0 ? Math.min(...given) : undefined;
}
