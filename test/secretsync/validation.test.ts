import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { Draft } from "../../src/api/objects.ts";
import type { Kube } from "../../src/kube/client.ts";
import { ApiError, isReason } from "../../src/kube/errors.ts";
import { adminKube, uniqueName } from "../../src/testing/cluster.ts";
import { type SecretSync, type Strategy, secretSync, secretSyncs } from "../../src/testing/objects.ts";
import { changeSync, createSync, whenAdmissionListens } from "../../src/testing/syncs.ts";

const src = { namespace: "vault", name: "db" };
const dest = [{ namespace: "team", name: "db" }];
const places = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ namespace: "team", name: `db-${index}` }));

let kube: Kube;
before(async () => {
  kube = await adminKube();
});

/** A dry run: validated like any other write, and nothing is left behind. */
function create(spec: unknown): Promise<SecretSync> {
  const draft = { metadata: { name: uniqueName("valid") }, spec } as Draft<SecretSync>;
  return whenAdmissionListens(() => kube.create<SecretSync>(secretSyncs, draft, { dryRun: true }));
}

/** 422, and the words say where and what. */
async function assertInvalid(write: Promise<unknown>, words: RegExp): Promise<void> {
  await assert.rejects(write, (error) => {
    assert.ok(error instanceof ApiError, String(error));
    assert.equal(error.status, 422, error.message);
    assert.equal(error.reason, "Invalid");
    assert.match(error.message, words);
    return true;
  });
}

const accepted = {
  "no strategy": { src, dest },
  watch: { src, dest, strategy: { watch: {} } },
  "paused, given": { src, dest, paused: true },
  "names with dots": { src: { namespace: "vault", name: "a.b-c.0" }, dest },
  "names that begin with a digit": { src: { namespace: "0vault", name: "0db" }, dest },
  "the longest names": { src: { namespace: "v".repeat(63), name: "d".repeat(253) }, dest },
  "32 destinations": { src, dest: places(32) },
  "the source's name elsewhere": { src, dest: [{ namespace: "team", name: "db" }] },
  "another name in the source's namespace": { src, dest: [{ namespace: "vault", name: "other" }] },
  "one name in several namespaces": { src, dest: ["a", "b"].map((namespace) => ({ namespace, name: "db" })) },
};
for (const [name, spec] of Object.entries(accepted)) {
  test(`accepted: ${name}`, async () => {
    await create(spec);
  });
}

test("defaults: strategy is watch, paused is false", async () => {
  const { spec } = await create({ src, dest });
  assert.deepEqual(spec, { src, dest, strategy: { watch: {} }, paused: false });
});

const refused: Readonly<Record<string, readonly [spec: unknown, words: RegExp]>> = {
  "no spec": [undefined, /spec.*Required/],
  "no source": [{ dest }, /spec\.src.*Required/],
  "no namespace of the source": [{ src: { name: "db" }, dest }, /spec\.src\.namespace.*Required/],
  "no name of the source": [{ src: { namespace: "vault" }, dest }, /spec\.src\.name.*Required/],
  "an empty namespace": [{ src: { ...src, namespace: "" }, dest }, /spec\.src\.namespace/],
  "an empty name": [{ src: { ...src, name: "" }, dest }, /spec\.src\.name/],
  "a namespace with a dot": [{ src: { ...src, namespace: "a.b" }, dest }, /spec\.src\.namespace/],
  "a namespace in capitals": [{ src: { ...src, namespace: "Vault" }, dest }, /spec\.src\.namespace/],
  "a namespace of 64 characters": [{ src: { ...src, namespace: "v".repeat(64) }, dest }, /spec\.src\.namespace/],
  "a name of 254 characters": [{ src: { ...src, name: "d".repeat(254) }, dest }, /spec\.src\.name/],
  "a name with a slash": [{ src: { ...src, name: "a/b" }, dest }, /spec\.src\.name/],
  "a name that ends with a dash": [{ src: { ...src, name: "db-" }, dest }, /spec\.src\.name/],
  "a name with two dots in a row": [{ src: { ...src, name: "a..b" }, dest }, /spec\.src\.name/],
  "no destination given": [{ src }, /spec\.dest.*Required/],
  "an empty list of destinations": [{ src, dest: [] }, /spec\.dest.*at least 1/],
  "33 destinations": [{ src, dest: places(33) }, /spec\.dest.*(at most|no more than) 32/],
  "a destination twice": [{ src, dest: [...dest, ...dest] }, /spec\.dest\[1\].*Duplicate/],
  "the source itself as a destination": [{ src, dest: [...dest, src] }, /spec.*destination.*source/],
  "a destination without a name": [{ src, dest: [{ namespace: "team" }] }, /spec\.dest\[0\]\.name.*Required/],
  "a destination without a namespace": [{ src, dest: [{ name: "db" }] }, /spec\.dest\[0\]\.namespace.*Required/],
  "a destination in capitals": [{ src, dest: [{ namespace: "team", name: "DB" }] }, /spec\.dest\[0\]\.name/],
  "neither watch nor poll": [{ src, dest, strategy: {} }, /spec\.strategy.*exactly one of/],
  "both watch and poll": [
    { src, dest, strategy: { watch: {}, poll: { interval: "15m" } } },
    /spec\.strategy.*exactly one of/,
  ],
  "poll without an interval": [{ src, dest, strategy: { poll: {} } }, /spec\.strategy\.poll\.interval.*Required/],
  "an interval that is a number": [
    { src, dest, strategy: { poll: { interval: 900 } } },
    /spec\.strategy\.poll\.interval/,
  ],
  "paused as a word": [{ src, dest, paused: "yes" }, /spec\.paused/],
};
for (const [name, [spec, words]] of Object.entries(refused)) {
  test(`refused with 422: ${name}`, () => assertInvalid(create(spec), words));
}

const poll = (interval: string) => ({ src, dest, strategy: { poll: { interval } } });

for (const interval of [
  ...["10s", "10000ms", "24h", "86400s", "23h59m60s", "15m", "900s", "1h30m", "1h1m1s1ms", "0h15m"],
]) {
  test(`interval accepted: ${interval}`, async () => {
    assert.deepEqual((await create(poll(interval))).spec.strategy, { poll: { interval } });
  });
}

const bounds: Readonly<Record<string, RegExp>> = {
  "9s": /at least 10s/,
  "9999ms": /at least 10s/,
  "0s": /at least 10s/,
  "24h1ms": /at most 24h/,
  "25h": /at most 24h/,
};
for (const [interval, words] of Object.entries(bounds)) {
  test(`interval refused: ${interval}`, () => assertInvalid(create(poll(interval)), words));
}

for (const interval of [
  ...["", "-10s", "+10s", "1.5h", "0.5m", ".5h", "1000000us", "1000000µs", "99999999999ns", "10", "0", "s", "10 s"],
  ...[
    " 10s",
    "10s ",
    "10s\n",
    "1d",
    "1w",
    "ten minutes",
    "15M",
    "1h30",
    "99999999999999999999h",
    "9223372036854775807s",
  ],
]) {
  test(`interval refused: ${JSON.stringify(interval)}`, () =>
    assertInvalid(create(poll(interval)), /spec\.strategy\.poll\.interval/));
}

const strategies: readonly { name: string; from: Strategy; to: Strategy | undefined; isAllowed: boolean }[] = [
  { name: "watch to poll", from: { watch: {} }, to: { poll: { interval: "15m" } }, isAllowed: false },
  { name: "poll to watch", from: { poll: { interval: "15m" } }, to: { watch: {} }, isAllowed: false },
  {
    name: "another interval",
    from: { poll: { interval: "15m" } },
    to: { poll: { interval: "20m" } },
    isAllowed: false,
  },
  {
    name: "15m written as 900s",
    from: { poll: { interval: "15m" } },
    to: { poll: { interval: "900s" } },
    isAllowed: false,
  },
  { name: "poll omitted", from: { poll: { interval: "15m" } }, to: undefined, isAllowed: false },
  { name: "watch omitted", from: { watch: {} }, to: undefined, isAllowed: true },
  { name: "the same again", from: { poll: { interval: "15m" } }, to: { poll: { interval: "15m" } }, isAllowed: true },
];
for (const { name, from, to, isAllowed } of strategies) {
  test(`a changed strategy: ${name} is ${isAllowed ? "no change" : "refused"}`, async (t) => {
    const missing = uniqueName("nowhere");
    const stored = await createSync(t, kube, `${missing}/a`, { to: [`${missing}/b`], strategy: from, paused: true });
    const options = { to: [`${missing}/b`], ...(to && { strategy: to }) };
    const draft = secretSync(stored.metadata.name, `${missing}/a`, options);
    // The operator writes a status meanwhile: with the newest resourceVersion, until it is no conflict.
    const update = async (): Promise<unknown> => {
      const { metadata } = (await kube.get<SecretSync>(secretSyncs, stored.metadata)) ?? stored;
      return kube.replace(secretSyncs, { ...draft, metadata }, { dryRun: true }).catch((error: unknown) => {
        if (isReason(error, "Conflict")) return update();
        throw error;
      });
    };
    if (isAllowed) await whenAdmissionListens(update);
    else await assertInvalid(whenAdmissionListens(update), /strategy.*immutable/);
  });
}

test("source, destinations and pause may change, within the same rules", async (t) => {
  const nowhere = uniqueName("nowhere");
  const sync = await createSync(t, kube, `${nowhere}/a`, { to: [`${nowhere}/b`], paused: true });
  await changeSync(kube, sync, { spec: { src: { name: "c" } } });
  await changeSync(kube, sync, { spec: { dest: [{ namespace: nowhere, name: "d" }] } });
  await assertInvalid(changeSync(kube, sync, { spec: { src: { name: "d" } } }), /destination.*source/);
  await assertInvalid(changeSync(kube, sync, { spec: { dest: [] } }), /spec\.dest/);
  await assertInvalid(
    changeSync(kube, sync, { spec: { strategy: { watch: null, poll: { interval: "1h" } } } }),
    /immutable/,
  );
});
