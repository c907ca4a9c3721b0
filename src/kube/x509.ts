import "reflect-metadata";
import { randomBytes, webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const usageOids = { server: x509.ExtendedKeyUsage.serverAuth, client: x509.ExtendedKeyUsage.clientAuth } as const;
const dayMs = 24 * 60 * 60 * 1000;
/** Clocks differ: a certificate counts from a little before it was made. */
const backdateMs = 5 * 60 * 1000;

export interface KeyPair {
  readonly certificatePem: string;
  /** PKCS #8. */
  readonly keyPem: string;
}

interface LeafRequest {
  readonly commonName: string;
  readonly organization?: string;
  readonly dnsNames?: readonly string[];
  readonly ips?: readonly string[];
  readonly usages: readonly (keyof typeof usageOids)[];
  readonly days: number;
}

x509.cryptoProvider.set(webcrypto);

export async function issueCa({
  commonName,
  days,
}: {
  readonly commonName: string;
  readonly days: number;
}): Promise<KeyPair> {
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...frame(days),
    name: [{ CN: [commonName] }],
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return pairOf(certificate, keys);
}

export async function issueLeaf(ca: KeyPair, request: LeafRequest): Promise<KeyPair> {
  const issuer = new x509.X509Certificate(ca.certificatePem);
  const signingKey = await webcrypto.subtle.importKey(
    "pkcs8",
    x509.PemConverter.decodeFirst(ca.keyPem),
    algorithm,
    false,
    ["sign"],
  );
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.create({
    ...frame(request.days),
    subject: [{ CN: [request.commonName] }, ...(request.organization ? [{ O: [request.organization] }] : [])],
    issuer: issuer.subjectName,
    signingKey,
    publicKey: keys.publicKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension(request.usages.map((usage) => usageOids[usage])),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      ...alternativeNames(request),
    ],
  });
  return pairOf(certificate, keys);
}

function frame(days: number) {
  const now = Date.now();
  return {
    // Positive: the first bit of a serial number is its sign.
    serialNumber: `01${randomBytes(15).toString("hex")}`,
    notBefore: new Date(now - backdateMs),
    notAfter: new Date(now + days * dayMs),
    signingAlgorithm: algorithm,
  };
}

function alternativeNames({ dnsNames = [], ips = [] }: LeafRequest): x509.Extension[] {
  const names = [
    ...dnsNames.map((value) => ({ type: "dns" as const, value })),
    ...ips.map((value) => ({ type: "ip" as const, value })),
  ];
  return names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : [];
}

async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return (await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"])) as webcrypto.CryptoKeyPair;
}

async function pairOf(certificate: x509.X509Certificate, keys: webcrypto.CryptoKeyPair): Promise<KeyPair> {
  const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return {
    certificatePem: `${certificate.toString("pem")}\n`,
    keyPem: `${x509.PemConverter.encode(key, "PRIVATE KEY")}\n`,
  };
}
