import assert from "node:assert/strict";
import { test } from "node:test";
import { leases } from "../../src/api/objects.ts";
import type { Lease } from "../../src/runtime/lease-move.ts";
import { type ApiProxy, afterwards, type Seen } from "../../src/testing/api-proxy.ts";
import { FanOut } from "../../src/testing/fan-out.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import type { Operator } from "../../tools/local/operator.ts";

const own = ownPlane();

const to = (method: string, part: RegExp) => (request: Seen) => request.method === method && part.test(request.path);
const copyCreated = to("POST", /\/namespaces\/test-[^/]+\/secrets\?/);
const copyChanged = to("PATCH", /\/secrets\/db-\d+-\d+\?/);
const copyDeleted = to("DELETE", /\/secrets\/db-\d+-\d+/);
const sourceLabelled = to("PATCH", /\/secrets\/db-\d\?/);
const finalizersChanged = to("PATCH", /\/secretsyncs\/[^/]+\?/);
const statusWritten = to("PATCH", /\/secretsyncs\/[^/]+\/status\?/);

const mostUnderWay = 8;

/** When the operator is killed, and what becomes of the requests it had under way. */
interface Moment {
  readonly after: number;
  readonly of: (request: Seen) => boolean;
  readonly underWay: "never arrive" | "arrive after its death" | "are carried out, unanswered";
}

/** Sets the scene before the operator starts: it begins to work before it says that it is ready. */
function faultsAt(proxy: ApiProxy, { after, of, underWay }: Moment) {
  const isDone = underWay === "are carried out, unanswered";
  const meets = afterwards(after, of, { kind: isDone ? "lose" : "hold" });
  const moment = proxy.fault((request) => (moment.hits.length < mostUnderWay ? meets(request) : undefined));
  // However long the kill takes, nothing else happens in between: the next moment needs something left to do.
  const isWork = ({ isWrite, path }: Seen) => isWrite && /\/(secretsyncs|namespaces\/test-)/.test(path);
  const rest = proxy.fault((request) => (isWork(request) && moment.hits.length > 0 ? { kind: "hold" } : undefined));
  return {
    reached: () => moment.reached(1),
    end() {
      rest.discard();
      if (underWay === "never arrive") moment.discard();
      else moment.lift();
    },
  };
}

/** Each moment finds what the deaths before it have left. */
test("killed again and again in the middle of fan-outs, it converges and leaves nothing behind", async (t) => {
  const proxy = await own.proxy();
  const fanOut = await FanOut.prepare(t);
  let operator: Operator | undefined;
  const live = async () => {
    operator ??= await own.operator({ through: proxy });
    return operator;
  };
  const die = async (moment: Moment, act?: () => Promise<void>) => {
    const faults = faultsAt(proxy, moment);
    const dying = await live();
    await act?.();
    await faults.reached();
    await dying.kill();
    operator = undefined;
    faults.end();
  };

  await die({ after: 1, of: finalizersChanged, underWay: "are carried out, unanswered" }, () => fanOut.begin(t));
  await die({ after: 0, of: copyCreated, underWay: "arrive after its death" });
  await die({ after: 30, of: copyCreated, underWay: "never arrive" });
  await die({ after: 20, of: copyCreated, underWay: "are carried out, unanswered" });
  await die({ after: 0, of: sourceLabelled, underWay: "arrive after its death" });
  await die({ after: 0, of: statusWritten, underWay: "are carried out, unanswered" });
  await live();
  await fanOut.settled("1");

  await die({ after: 10, of: copyChanged, underWay: "arrive after its death" }, () => fanOut.change("2"));
  await die({ after: 40, of: copyChanged, underWay: "are carried out, unanswered" });
  await live();
  await fanOut.settled("2");

  await die({ after: 20, of: copyDeleted, underWay: "arrive after its death" }, () => fanOut.remove());
  await die({ after: 0, of: finalizersChanged, underWay: "never arrive" });
  const last = await live();
  await fanOut.gone();
  await last.stop();
});

const stops = [
  { name: "requests go on", holds: false },
  { name: "nothing is answered any more", holds: true },
] as const;

for (const { name, holds } of stops) {
  test(`SIGTERM during a fan-out while ${name}: it ends with 0, gives the Lease back, and the next one goes on`, async (t) => {
    const proxy = await own.proxy();
    const fanOut = await FanOut.prepare(t);
    const first = await own.operator({ through: proxy, replica: "first" });
    const kube = await own.kube;
    const rule = proxy.fault(afterwards(20, copyCreated, { kind: "hold" }));
    await fanOut.begin(t);
    await rule.reached(1);
    const stopped = first.stop();
    if (!holds) rule.lift();
    await stopped;
    // Whoever does not end in time is killed by `stop`, and that is no 0.
    assert.deepEqual(first.ending, { code: 0 });
    rule.discard();
    const lease = await kube.get<Lease>(leases, { namespace: "latchkey-system", name: "latchkey" });
    assert.equal(lease?.spec?.holderIdentity ?? "", "");

    const second = await own.operator({ through: proxy, replica: "second" });
    await fanOut.settled("1");
    await fanOut.remove();
    await fanOut.gone();
    await second.stop();
    assert.deepEqual(second.ending, { code: 0 });
  });
}
