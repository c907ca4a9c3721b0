import assert from "node:assert/strict";
import { before, test } from "node:test";
import { issueCa, issueLeaf, type KeyPair } from "../../kube/x509.ts";
import { type CertificateRecord, caDays, leafDays, planCertificates } from "./certificate-plan.ts";

const dayMs = 24 * 60 * 60 * 1000;
const hosts = ["latchkey-admission.ns.svc", "127.0.0.1", "::1"];
const inDays = (days: number) => new Date(Date.now() + days * dayMs);

let ca: KeyPair;
let agingCa: KeyPair;
let leaf: KeyPair;
let leafOfAging: KeyPair;

const leafOf = (authority: KeyPair) =>
  issueLeaf(authority, {
    commonName: "latchkey-admission",
    dnsNames: hosts.slice(0, 1),
    ips: hosts.slice(1),
    usages: ["server"],
    days: leafDays,
  });

before(async () => {
  ca = await issueCa({ commonName: "ca", days: caDays });
  agingCa = await issueCa({ commonName: "ca", days: 600 });
  leaf = await leafOf(ca);
  leafOfAging = await leafOf(agingCa);
});

const cases: readonly {
  name: string;
  record: () => CertificateRecord;
  days?: number;
  hosts?: readonly string[];
  plan: { addAuthority: boolean; issueLeaf: string | undefined; keep: number };
}[] = [
  {
    name: "nothing stored: everything is made",
    record: () => ({ authorities: [], leaf: undefined }),
    plan: { addAuthority: true, issueLeaf: "Missing", keep: 0 },
  },
  {
    name: "fresh: nothing to do",
    record: () => ({ authorities: [ca], leaf }),
    plan: { addAuthority: false, issueLeaf: undefined, keep: 1 },
  },
  {
    name: "leaf deleted by hand: issued anew by the same CA",
    record: () => ({ authorities: [ca], leaf: undefined }),
    plan: { addAuthority: false, issueLeaf: "Missing", keep: 1 },
  },
  {
    name: "leaf 89 days before its end: renewed",
    record: () => ({ authorities: [ca], leaf }),
    days: leafDays - 89,
    plan: { addAuthority: false, issueLeaf: "Expiring", keep: 1 },
  },
  {
    name: "leaf 91 days before its end: kept",
    record: () => ({ authorities: [ca], leaf }),
    days: leafDays - 91,
    plan: { addAuthority: false, issueLeaf: undefined, keep: 1 },
  },
  {
    name: "another host asked for",
    record: () => ({ authorities: [ca], leaf }),
    hosts: ["other.example"],
    plan: { addAuthority: false, issueLeaf: "OtherHosts", keep: 1 },
  },
  {
    name: "fewer hosts asked for: kept, another replica needs them",
    record: () => ({ authorities: [ca], leaf }),
    hosts: hosts.slice(1),
    plan: { addAuthority: false, issueLeaf: undefined, keep: 1 },
  },
  {
    name: "leaf is rubbish",
    record: () => ({ authorities: [ca], leaf: { certificatePem: "rubbish", keyPem: "rubbish" } }),
    plan: { addAuthority: false, issueLeaf: "Unreadable", keep: 1 },
  },
  {
    name: "leaf with another's key",
    record: () => ({ authorities: [ca], leaf: { ...leaf, keyPem: leafOfAging.keyPem } }),
    plan: { addAuthority: false, issueLeaf: "Unreadable", keep: 1 },
  },
  {
    name: "leaf of a CA that is gone",
    record: () => ({ authorities: [ca], leaf: leafOfAging }),
    plan: { addAuthority: false, issueLeaf: "OtherAuthority", keep: 1 },
  },
  {
    name: "CA without its key is of no use",
    record: () => ({ authorities: [{ ...ca, keyPem: "" }], leaf }),
    plan: { addAuthority: true, issueLeaf: "OtherAuthority", keep: 0 },
  },
  {
    name: "a leaf among the CAs is none",
    record: () => ({ authorities: [leaf], leaf }),
    plan: { addAuthority: true, issueLeaf: "OtherAuthority", keep: 0 },
  },
  {
    name: "CA near its end: a second one is announced, the old one still signs",
    record: () => ({ authorities: [agingCa], leaf: leafOfAging }),
    plan: { addAuthority: true, issueLeaf: undefined, keep: 1 },
  },
  {
    name: "announced CA on its first day: only trusted",
    record: () => ({ authorities: [ca, agingCa], leaf: leafOfAging }),
    days: 0.5,
    plan: { addAuthority: false, issueLeaf: undefined, keep: 2 },
  },
  {
    name: "announced CA after a day: signs, the old one is still trusted",
    record: () => ({ authorities: [ca, agingCa], leaf: leafOfAging }),
    days: 1.5,
    plan: { addAuthority: false, issueLeaf: "OtherAuthority", keep: 2 },
  },
  {
    name: "after two days the old CA goes",
    record: () => ({ authorities: [ca, agingCa], leaf }),
    days: 2.5,
    plan: { addAuthority: false, issueLeaf: undefined, keep: 1 },
  },
  {
    name: "expired CA: all anew",
    record: () => ({ authorities: [ca], leaf }),
    days: caDays + 1,
    plan: { addAuthority: true, issueLeaf: "OtherAuthority", keep: 0 },
  },
];

for (const { name, record, days = 0, hosts: asked = hosts, plan } of cases) {
  test(`planCertificates: ${name}`, () => {
    const actual = planCertificates(record(), inDays(days), asked);
    const { addAuthority, issueLeaf: reason, keep } = actual;
    assert.deepEqual({ addAuthority, issueLeaf: reason, keep: keep.length }, plan);
    const isCurrent = !plan.addAuthority && !plan.issueLeaf && plan.keep === record().authorities.length;
    assert.equal(actual.isCurrent, isCurrent);
  });
}

test("planCertificates: the next leaf keeps the hosts of the last", () => {
  const { hosts: next } = planCertificates({ authorities: [ca], leaf }, new Date(), ["other.example"]);
  assert.deepEqual([...next].sort(), ["127.0.0.1", "::1", "latchkey-admission.ns.svc", "other.example"]);
});
