import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import { issueCa, issueLeaf } from "./x509.ts";

test("a leaf is signed by its CA, names what it is for, and ends when asked", async () => {
  const ca = await issueCa({ commonName: "test", days: 10 });
  const leaf = await issueLeaf(ca, {
    commonName: "admin",
    organization: "system:masters",
    dnsNames: ["localhost"],
    ips: ["127.0.0.1"],
    usages: ["client"],
    days: 5,
  });
  const issuer = new X509Certificate(ca.certificatePem);
  const certificate = new X509Certificate(leaf.certificatePem);
  assert.ok(issuer.ca);
  assert.ok(!certificate.ca);
  assert.ok(certificate.verify(issuer.publicKey));
  assert.ok(certificate.checkIssued(issuer));
  assert.equal(certificate.checkHost("localhost"), "localhost");
  assert.equal(certificate.checkIP("127.0.0.1"), "127.0.0.1");
  assert.match(certificate.subject, /CN=admin\nO=system:masters|O=system:masters\nCN=admin/);
  assert.deepEqual(certificate.keyUsage, ["1.3.6.1.5.5.7.3.2"]);
  const days = (certificate.validToDate.getTime() - Date.now()) / 86_400_000;
  assert.ok(days > 4.9 && days <= 5);
});
