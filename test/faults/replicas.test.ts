import assert from "node:assert/strict";
import { test } from "node:test";
import { secrets } from "../../src/api/objects.ts";
import { afterwards, type Seen } from "../../src/testing/api-proxy.ts";
import { auditPosition, operatorWrites } from "../../src/testing/audit.ts";
import { uniqueName } from "../../src/testing/cluster.ts";
import { FanOut } from "../../src/testing/fan-out.ts";
import { secretSync, secretSyncs } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { type Replica, Replicas, reviewBy, untilLeads, type Verdict, writesOf } from "../../src/testing/replicas.ts";
import { createSync } from "../../src/testing/syncs.ts";
import { untilGone, untilSecret } from "../../src/testing/wait.ts";
import { ask } from "../../tools/local/http.ts";

const own = ownPlane(async () => {
  await replicas.start("first");
  await replicas.start("second");
});
const replicas = new Replicas(own);

test("a standby is ready, makes no write, and serves admission", async (t) => {
  const { standby } = await replicas.roles();
  const fanOut = await FanOut.prepare(t, { syncs: 1, copies: 4 });
  const from = standby.proxy.requests.length;
  await fanOut.begin(t);
  await fanOut.settled("1");
  assert.equal((await ask(`${standby.operator.metricsUrl}/readyz`)).status, 200);
  const verdicts = [await review(standby, "nobody", fanOut), await review(standby, "system:admin", fanOut)];
  assert.deepEqual(
    verdicts.map(({ allowed }) => allowed),
    [false, true],
  );
  assert.match(verdicts[0]?.status?.message ?? "", /"nobody" may not get Secret/);

  const kube = await own.kube;
  const position = await auditPosition(kube, fanOut.vault);
  await fanOut.change("2");
  await fanOut.settled("2");
  const writes = await operatorWrites(kube, fanOut.vault, { from: position });
  assert.equal(writes.filter(({ namespace }) => namespace === fanOut.team).length, 4, "one for each copy");
  await fanOut.remove();
  await fanOut.gone();
  assert.deepEqual(writesOf(standby, { from }), []);
});

test("a leader that sleeps beyond its lease writes nothing when it wakes; what it had under way does no harm", async (t) => {
  const { leader, standby } = await replicas.roles();
  const fanOut = await FanOut.prepare(t, { syncs: 2, copies: 16 });
  await fanOut.begin(t);
  await fanOut.settled("1");
  const ofCopies = ({ isWrite, path }: Seen) => isWrite && path.includes(`/${fanOut.team}/secrets/`);
  const held = leader.proxy.fault(afterwards(6, ofCopies, { kind: "hold" }));
  await fanOut.change("2");
  await held.reached(3);
  leader.operator.pause();

  await untilLeads(standby, true);
  await fanOut.settled("2");
  await fanOut.change("3");
  await fanOut.settled("3");

  const from = leader.proxy.requests.length;
  leader.operator.resume();
  held.lift();
  await untilLeads(leader, false);
  // Served by the new leader, also where the registered replica was the sleeper.
  const [source, target] = [`${fanOut.vault}/db-0`, `${fanOut.team}/later`];
  const sync = await createSync(t, fanOut.kube, source, { to: [target] });
  await untilSecret(fanOut.kube, target, { v: "3" });
  await fanOut.kube.delete(secretSyncs, sync.metadata);
  await untilGone(fanOut.kube, secrets, { namespace: fanOut.team, name: "later" });
  await fanOut.change("4");
  await fanOut.settled("4");
  assert.deepEqual(
    held.hits.filter(({ status }) => status === undefined || status < 400),
    [],
    "what came late was refused by the API server",
  );
  assert.deepEqual(writesOf(leader, { from }), []);
  await fanOut.remove();
  await fanOut.gone();
});

test("the leader is killed: the standby serves, and admission works again", async (t) => {
  const { leader, standby } = await replicas.roles();
  const fanOut = await FanOut.prepare(t);
  const rule = leader.proxy.fault(
    afterwards(20, ({ method, path }) => method === "POST" && path.includes(`/${fanOut.team}/`), { kind: "hold" }),
  );
  await fanOut.begin(t);
  await rule.reached(1);
  await leader.operator.kill();
  rule.lift();
  await untilLeads(standby, true);
  await fanOut.settled("1");
  // Waits for admission, a minute at most.
  const sync = await createSync(t, fanOut.kube, `${fanOut.vault}/db-0`, { to: [`${fanOut.team}/later`] });
  await untilSecret(fanOut.kube, `${fanOut.team}/later`, { v: "1" });
  await fanOut.kube.delete(secretSyncs, sync.metadata);
  await untilGone(fanOut.kube, secrets, { namespace: fanOut.team, name: "later" });
  await fanOut.change("2");
  await fanOut.settled("2");
  await fanOut.remove();
  await fanOut.gone();
});

test("the leader ends in order: the next one leads at once", async (t) => {
  const fanOut = await FanOut.prepare(t, { syncs: 1, copies: 4 });
  await fanOut.begin(t);
  await fanOut.settled("1");
  await replicas.start("third");
  const { leader, standby } = await replicas.roles();
  await leader.operator.stop();
  assert.deepEqual(leader.operator.ending, { code: 0 });
  await untilLeads(standby, true);
  await fanOut.change("2");
  await fanOut.settled("2");
  await fanOut.remove();
  await fanOut.gone();
});

/** Asks the replica itself whether this user may have a SecretSync. */
function review(replica: Replica, username: string, { vault, team }: FanOut): Promise<Verdict> {
  const object = secretSync(uniqueName("asked"), `${vault}/db-0`, { to: [`${team}/asked`] });
  const userInfo = { username, groups: username === "nobody" ? [] : ["system:masters"] };
  return reviewBy(replica, "/validate/secretsyncs", { object, userInfo });
}
