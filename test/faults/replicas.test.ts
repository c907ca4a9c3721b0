import assert from "node:assert/strict";
import { request } from "node:https";
import { json } from "node:stream/consumers";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { leases, secrets } from "../../src/api/objects.ts";
import type { Lease } from "../../src/runtime/lease-move.ts";
import { type ApiProxy, afterwards, type Seen } from "../../src/testing/api-proxy.ts";
import { auditPosition, operatorWrites } from "../../src/testing/audit.ts";
import { uniqueName } from "../../src/testing/cluster.ts";
import { FanOut } from "../../src/testing/fan-out.ts";
import { sampleIn } from "../../src/testing/metrics.ts";
import { secretSync, secretSyncs } from "../../src/testing/objects.ts";
import { ownPlane } from "../../src/testing/planes.ts";
import { createSync } from "../../src/testing/syncs.ts";
import { until, untilGone, untilSecret } from "../../src/testing/wait.ts";
import { ask } from "../../tools/local/http.ts";
import type { Operator } from "../../tools/local/operator.ts";

const leaseRef = { namespace: "latchkey-system", name: "latchkey" };

interface Replica {
  readonly name: string;
  readonly proxy: ApiProxy;
  readonly operator: Operator;
}

const replicas: Replica[] = [];
const own = ownPlane(async () => {
  replicas.push(await start("first"), await start("second"));
});

async function start(name: string): Promise<Replica> {
  const proxy = await own.proxy();
  return { name, proxy, operator: await own.operator({ through: proxy, replica: name }) };
}

/** Looked up anew by each test: on a busy machine the lease may have moved by itself. */
async function roles(): Promise<{ readonly leader: Replica; readonly standby: Replica }> {
  const lease = await until<Lease>(await own.kube, leases, leaseRef, "is held", (seen) => !!seen?.spec?.holderIdentity);
  const running = replicas.filter(({ operator }) => !operator.ending);
  const leader = running.find(({ name }) => name === lease?.spec?.holderIdentity);
  const standby = running.find((replica) => replica !== leader);
  if (!leader || !standby) throw new Error("there should be two replicas, one of them leading");
  await untilLeads(leader, true);
  return { leader, standby };
}

async function untilLeads({ name, operator }: Replica, isLeading: boolean): Promise<void> {
  for (const deadline = performance.now() + 90_000; ; await sleep(100)) {
    const { body } = await ask(`${operator.metricsUrl}/metrics`);
    if (sampleIn(body, "latchkey_leader") === (isLeading ? 1 : 0)) return;
    if (performance.now() > deadline) throw new Error(`${name} ${isLeading ? "does not lead" : "still leads"}`);
  }
}

test("a standby is ready, makes no write, and serves admission", async (t) => {
  const { standby } = await roles();
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
  const { leader, standby } = await roles();
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
  const { leader, standby } = await roles();
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
  replicas.push(await start("third"));
  const { leader, standby } = await roles();
  await leader.operator.stop();
  assert.deepEqual(leader.operator.ending, { code: 0 });
  await untilLeads(standby, true);
  await fanOut.change("2");
  await fanOut.settled("2");
  await fanOut.remove();
  await fanOut.gone();
});

function writesOf({ proxy }: Replica, { from }: { readonly from: number }): readonly string[] {
  const writes = proxy.requests.slice(from).filter(({ isWrite }) => isWrite);
  return writes.map(({ method, path, status }) => `${method} ${path}: ${status}`);
}

interface Verdict {
  readonly allowed: boolean;
  readonly status?: { readonly message?: string };
}

/** Asks the replica itself, as the API server would, whether this user may have a SecretSync. */
async function review({ operator }: Replica, username: string, { vault, team }: FanOut): Promise<Verdict> {
  const name = uniqueName("asked");
  const body = {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: name,
      operation: "CREATE",
      name,
      userInfo: { username, groups: username === "nobody" ? [] : ["system:masters"] },
      object: secretSync(name, `${vault}/db-0`, { to: [`${team}/asked`] }),
    },
  };
  // Whose certificate it is, other tests look at.
  const options = { method: "POST", agent: false, rejectUnauthorized: false };
  const { promise, resolve, reject } = Promise.withResolvers<{ response: Verdict }>();
  const sent = request(`${operator.admissionUrl}/validate/secretsyncs`, options, (answer) => {
    json(answer).then((parsed) => resolve(parsed as { response: Verdict }), reject);
  });
  sent.on("error", reject).end(JSON.stringify(body));
  return (await promise).response;
}
