import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Kube } from "../kube/client.ts";
import { ApiError } from "../kube/errors.ts";
import { createLog } from "../kube/log.ts";
import { adminKube, createNamespace, uniqueName } from "../testing/cluster.ts";
import { at } from "../testing/objects.ts";
import { allCopied, barePlane, holding, type Replica, scene, served, TestAsker } from "../testing/pull-secrets.ts";
import { createSecret, deleteSecret, getSecret, patchSecret, setValues } from "../testing/secrets.ts";
import { createPullSecret } from "../testing/sidecars.ts";
import { createUser } from "../testing/users.ts";
import { untilSecret } from "../testing/wait.ts";

barePlane();

/** Passes as the runtime would make them, one term after the other. */
async function passBy({ pullSecrets }: Replica, key: string, kube?: Kube) {
  const log = createLog({ level: "error", format: "text" });
  return pullSecrets.worker.pass(key, { kube: kube ?? (await adminKube()), signal: AbortSignal.timeout(60_000), log });
}

test("a new term remembers nothing of the one before, and nothing of that goes on", async (t) => {
  const { kube, source, teamA, replica, copies, start } = await served(t);
  await replica.stop();
  await deleteSecret(kube, source);
  const asker = new TestAsker();
  asker.want(source, [teamA]);
  const standby = await start(asker, { leads: false });
  const { worker } = standby.pullSecrets;
  const woken: string[] = [];

  const end = worker.begin((key) => woken.push(`first ${key}`));
  assert.deepEqual([...worker.keys()], [source]);
  assert.ok(((await passBy(standby, source)).recheckAfterMs ?? 0) > 2500);
  await sleep(1000);
  assert.ok(((await passBy(standby, source)).recheckAfterMs ?? 9000) < 2200);
  assert.equal(standby.pullSecrets.reportOf(source)?.state.kind, "missing");
  end();
  assert.equal(standby.pullSecrets.reportOf(source), undefined);
  woken.length = 0;

  const endAgain = worker.begin((key) => woken.push(`second ${key}`));
  assert.ok(((await passBy(standby, source)).recheckAfterMs ?? 0) > 2500);
  await sleep(500);
  await createPullSecret(kube, source, "two");
  await sleep(1000);
  assert.deepEqual(new Set(woken), new Set([`second ${source}`]));
  await passBy(standby, source);
  await untilSecret(kube, copies[0], holding("two"));
  endAgain();
  endAgain();
});

test("a place that is not wanted any more is not tried again", async (t) => {
  const { kube, source, teamA, literal, suffixed, start } = await scene(t);
  await createPullSecret(kube, source, "one");
  for (const name of [literal, suffixed]) await createSecret(kube, `${teamA}/${name}`);
  const asker = new TestAsker();
  asker.want(source, [teamA]);
  const standby = await start(asker, { leads: false });
  const end = standby.pullSecrets.worker.begin(() => {});
  assert.ok(((await passBy(standby, source)).recheckAfterMs ?? 0) >= 1000);
  asker.want(source, []);
  await sleep(1100);
  assert.equal((await passBy(standby, source)).recheckAfterMs, undefined);
  end();
});

test("a namespace that comes during a pass is not overlooked", async (t) => {
  const { kube, source, teamA, teamB, literal, replica, start } = await served(t);
  await replica.stop();
  const coming = uniqueName("test");
  const asker = new TestAsker();
  asker.want(source, [teamA, coming]);
  asker.idleMs = 0;
  const standby = await start(asker, { leads: false });
  asker.mayGo = async ({ namespace }) => {
    assert.equal(namespace, teamB);
    await createNamespace(t, coming);
    while (!standby.replication.namespaces.has(coming)) await sleep(10);
    return false;
  };
  const end = standby.pullSecrets.worker.begin(() => {});
  assert.equal((await passBy(standby, source)).retry, true);
  asker.mayGo = async () => false;
  assert.equal((await passBy(standby, source)).retry, false);
  await untilSecret(kube, `${coming}/${literal}`, holding("one"));
  end();
});

test("a change wakes the sources it concerns and no others", async (t) => {
  const { kube, source, vault, teamA, teamB, replica, copies, start } = await served(t);
  await replica.stop();
  const asker = new TestAsker();
  asker.want(source, [teamA, teamB]);
  const standby = await start(asker, { leads: false });
  const woken = new Set<string>();
  const end = standby.pullSecrets.worker.begin((key) => woken.add(key));
  await passBy(standby, source);
  const wokenBy = async (change: () => Promise<unknown>) => {
    woken.clear();
    await change();
    await sleep(500);
    return [...woken];
  };
  assert.deepEqual(await wokenBy(() => setValues(kube, source, holding("two"))), [source]);
  assert.deepEqual(await wokenBy(() => patchSecret(kube, source, { metadata: { labels: { a: "b" } } })), []);
  assert.deepEqual(await wokenBy(() => patchSecret(kube, copies[0], { metadata: { labels: { a: "b" } } })), [source]);
  assert.deepEqual(await wokenBy(() => createPullSecret(kube, `${vault}/other`)), []);
  const labelled = { labels: { "latchkey.dev/source": "true" } };
  assert.deepEqual(await wokenBy(() => createPullSecret(kube, `${vault}/theirs`, "x", labelled)), []);
  standby.replication.suspects.found(copies[1]);
  assert.deepEqual([...woken], [source]);
  end();
  assert.deepEqual(await wokenBy(() => setValues(kube, source, holding("three"))), []);
});

test("a source that may not be read says so, and is found once it may", async (t) => {
  const { kube, source, home, vault, teamA, literal, start } = await scene(t);
  await createPullSecret(kube, source, "one");
  const user = await createUser(
    t,
    { verbs: ["list", "watch", "create", "patch", "delete"], resource: "secrets" },
    { verbs: ["list", "watch"], resource: "namespaces" },
    ...[home, teamA].map((namespace) => ({ verbs: ["get", "create"], resource: "secrets", namespace })),
  );
  const replica = await start(new TestAsker(), { as: user.name });
  replica.want(source, [teamA]);
  const { state } = await replica.report(source, (report) => report.state.kind === "unreadable");
  assert.match(state.kind === "unreadable" ? state.message : "", /cannot get resource "secrets"/);
  assert.deepEqual(
    await replica.pullSecrets.resolve(at(source), teamA, {
      dryRun: false,
      isReserved: () => false,
      signal: AbortSignal.timeout(60_000),
    }),
    { kind: "refused", name: literal },
  );
  await user.grant({ verbs: ["get"], resource: "secrets", namespace: vault });
  await untilSecret(kube, `${teamA}/${literal}`, holding("one"));
});

for (const { name, reason, untold } of [
  { name: "for now", reason: "", untold: 2 },
  { name: "for good", reason: "InternalError", untold: 0 },
]) {
  test(`a source that the server fails to read ${name} says so, and is tried again`, async (t) => {
    const { kube, source, teamA, literal, start } = await scene(t);
    await createPullSecret(kube, source, "one");
    const asker = new TestAsker();
    asker.want(source, [teamA]);
    const standby = await start(asker, { leads: false });
    const end = standby.pullSecrets.worker.begin(() => {});
    const get = () => Promise.reject(new ApiError("no such key", { status: 500, reason }));
    const broken = { get } as unknown as Kube;
    for (let attempt = 0; attempt < untold; attempt++) {
      await assert.rejects(passBy(standby, source, broken), /no such key/);
      assert.equal(standby.pullSecrets.reportOf(source), undefined);
    }
    for (let attempt = 0; attempt < 2; attempt++) {
      assert.equal((await passBy(standby, source, broken)).retry, true);
      const unreadable = { kind: "unreadable", message: "no such key" };
      assert.deepEqual(standby.pullSecrets.reportOf(source), { state: unreadable, places: new Map() });
    }
    await passBy(standby, source);
    await untilSecret(kube, `${teamA}/${literal}`, holding("one"));
    end();
  });
}

test("a source whose content may not be read any more says so where a copy needs it", async (t) => {
  const { kube, source, home, teamA, teamB, replica, start } = await served(t);
  await replica.stop();
  await setValues(kube, source, holding("two"));
  const user = await createUser(
    t,
    { verbs: ["list", "watch", "create", "patch", "delete"], resource: "secrets" },
    { verbs: ["list", "watch"], resource: "namespaces" },
    ...[home, teamA, teamB].map((namespace) => ({ verbs: ["get"], resource: "secrets", namespace })),
  );
  const asker = new TestAsker();
  asker.want(source, [teamA]);
  const next = await start(asker, { as: user.name });
  const { places } = await next.report(source, (report) => report.places.get(teamA)?.kind === "refused");
  assert.match(JSON.stringify(places.get(teamA)), /cannot get resource/);
});

test("a source that may not be labelled is followed by its name", async (t) => {
  const { kube, source, home, vault, teamA, literal, start } = await scene(t);
  await createPullSecret(kube, source, "one");
  const user = await createUser(
    t,
    { verbs: ["get", "list", "watch", "create", "delete"], resource: "secrets" },
    { verbs: ["list", "watch"], resource: "namespaces" },
    ...[home, teamA].map((namespace) => ({ verbs: ["patch"], resource: "secrets", namespace })),
  );
  const replica = await start(new TestAsker(), { as: user.name });
  replica.want(source, [teamA]);
  await untilSecret(kube, `${teamA}/${literal}`, holding("one"));
  await replica.report(source, allCopied);
  await setValues(kube, source, holding("two"));
  await untilSecret(kube, `${teamA}/${literal}`, holding("two"));
  assert.equal((await getSecret(kube, source))?.metadata.labels?.["latchkey.dev/source"], undefined);
  assert.ok(replica.count("apply") <= 4, `${replica.count("apply")} tries`);
  await user.grant({ verbs: ["patch"], resource: "secrets", namespace: vault });
  await deleteSecret(kube, source);
  await createPullSecret(kube, source, "three");
  await untilSecret(kube, `${teamA}/${literal}`, holding("three"));
});
