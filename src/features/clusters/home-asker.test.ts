import assert from "node:assert/strict";
import { test } from "node:test";
import type { Asker } from "../../pullsecrets/asker.ts";
import { HomeAsker } from "./home-asker.ts";

const copy = { namespace: "app", name: "vault-quay" };
const source = "vault/quay";

/** The home as its Cluster would have it served. */
const demand = (more: Partial<Asker> = {}): Asker => ({
  feature: "clusters",
  synced: async () => {},
  sources: () => [source],
  lists: (each) => each === source,
  retains: () => false,
  wanted: () => new Map([["app", []]]),
  isReserved: () => false,
  graceMs: () => 3_000,
  mayGo: async () => true,
  onReport: () => {},
  ...more,
});

interface Facts {
  readonly isExpected?: boolean;
  readonly isInjecting?: boolean;
  readonly isKnown?: boolean;
}

function home({ isExpected = false, isInjecting = false, isKnown = true }: Facts = {}) {
  const asked: string[] = [];
  const asker = new HomeAsker({
    references: () => [{ namespace: "vault", name: "elsewhere" }],
    isHomeExpected: () => isExpected,
    async stillInjected() {
      asked.push("stillInjected");
      return ({ namespace }) => isInjecting && namespace === copy.namespace;
    },
    isKnown: () => isKnown,
    ready: Promise.resolve(),
    onReport: () => {},
  });
  return { asker, asked };
}

test("a home that nobody is to serve keeps nothing, unless its Pods are given names still", async () => {
  assert.equal(await home().asker.mayGo(copy, source, {}), true);
  const { asker, asked } = home({ isInjecting: true });
  assert.equal(await asker.mayGo(copy, source, {}), false);
  assert.equal(await asker.mayGo(copy, source, {}), false);
  assert.equal(await asker.mayGo({ ...copy, namespace: "another" }, source, {}), true, "of no concern there");
  assert.deepEqual(asked, ["stillInjected"], "asked once");
  asker.release([]);
  assert.equal(await asker.mayGo(copy, source, {}), true, "cleaned up");
});

test("what is there is looked at anew after the home was served", async () => {
  const { asker, asked } = home();
  await asker.mayGo(copy, source, {});
  const leave = asker.serve(demand({ mayGo: async () => false }));
  assert.equal(await asker.mayGo(copy, source, {}), false, "by who serves it");
  leave();
  assert.equal(await asker.mayGo(copy, source, {}), true);
  assert.deepEqual(asked, ["stillInjected", "stillInjected"]);
});

test("a home that is about to be served, or paused, is left as it is", async () => {
  const { asker, asked } = home({ isExpected: true });
  assert.equal(asker.holds(), true);
  assert.equal(asker.retains(source), true);
  assert.equal(await asker.mayGo(copy, source, {}), false);
  assert.deepEqual(asked, []);
  const leave = asker.serve(demand());
  assert.equal(asker.holds(), false);
  assert.equal(asker.retains(source), false);
  assert.equal(await asker.mayGo(copy, source, {}), true);
  leave();
  assert.equal(asker.holds(), true);
});

test("another session does not end with the one before it", () => {
  const { asker } = home();
  const first = asker.serve(demand());
  asker.serve(demand());
  first();
  assert.equal(asker.lists(source), true);
});

test("sources of other clusters are followed here and wanted nowhere", () => {
  const { asker } = home();
  assert.deepEqual([...asker.sources()], ["vault/elsewhere"]);
  assert.equal(asker.lists("vault/elsewhere"), true);
  assert.equal(asker.lists(source), false);
  assert.deepEqual(asker.wanted("vault/elsewhere"), new Map());
  assert.equal(asker.graceMs(source), 0);
});

test("what the home had copied is taken back by it, until nothing is known of it any more", () => {
  const { asker } = home();
  assert.equal(asker.withdraws(source), false);
  asker.serve(demand());
  asker.wanted("vault/elsewhere");
  assert.deepEqual(asker.wanted(source), new Map([["app", []]]));
  assert.equal(asker.withdraws(source), true);
  assert.equal(asker.withdraws("vault/elsewhere"), false);
  assert.deepEqual([...asker.release([{ namespace: "vault", name: "hub" }])], [source, "vault/hub"]);
  assert.equal(asker.withdraws("vault/hub"), true);

  const forgetful = home({ isKnown: false }).asker;
  forgetful.release([{ namespace: "vault", name: "quay" }]);
  forgetful.onReport(source);
  assert.equal(forgetful.withdraws(source), false);
});
