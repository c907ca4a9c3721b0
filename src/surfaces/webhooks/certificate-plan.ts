import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import type { KeyPair } from "../../kube/x509.ts";

const dayMs = 24 * 60 * 60 * 1000;
export const caDays = 3650;
export const leafDays = 365;
const renewLeafAheadMs = 90 * dayMs;
/** More than a leaf's life, so that no leaf outlives the CA that signed it. */
const renewCaAheadMs = 2 * leafDays * dayMs;
/** A new CA signs only after everyone has had the time to trust it, and the old one goes only after that. */
const trustFirstMs = dayMs;
const dropOldAfterMs = 2 * dayMs;

/** What the Secret holds. */
export interface CertificateRecord {
  /** Newest first; more than one while a new CA takes over. */
  readonly authorities: readonly KeyPair[];
  readonly leaf: KeyPair | undefined;
}

export interface CertificatePlan {
  /** Nothing to do: the record is served as it is. */
  readonly isCurrent: boolean;
  readonly keep: readonly KeyPair[];
  readonly addAuthority: boolean;
  /** Why the serving certificate is issued anew; undefined: it stays. */
  readonly issueLeaf: string | undefined;
  /** Hosts of the next leaf: those asked for and those it already has, for replicas outside a cluster share it. */
  readonly hosts: readonly string[];
}

/** Decides what the stored certificates need. Pure: two replicas that read the same record decide the same. */
export function planCertificates(record: CertificateRecord, now: Date, hosts: readonly string[]): CertificatePlan {
  const usable = record.authorities.filter((authority) => isUsableAuthority(authority, now));
  const keep = usable.filter(
    (_, index) => !usable.slice(0, index).some((newer) => ageMs(newer, now) >= dropOldAfterMs),
  );
  const addAuthority = !keep.some((authority) => leftMs(authority, now) > renewCaAheadMs);
  const issueLeaf = leafProblem(record.leaf, signerOf(keep, now), now, hosts);
  return {
    isCurrent: !addAuthority && !issueLeaf && keep.length === record.authorities.length,
    keep,
    addAuthority,
    issueLeaf,
    hosts: [...new Set([...hosts, ...hostsOf(record.leaf)])],
  };
}

/** The CA that signs now: the newest that everyone trusts already, else the oldest there is. */
export function signerOf(authorities: readonly KeyPair[], now: Date): KeyPair | undefined {
  return authorities.find((authority) => ageMs(authority, now) >= trustFirstMs) ?? authorities.at(-1);
}

function leafProblem(
  leaf: KeyPair | undefined,
  signer: KeyPair | undefined,
  now: Date,
  hosts: readonly string[],
): string | undefined {
  if (!leaf) return "Missing";
  const certificate = certificateOf(leaf);
  if (!certificate) return "Unreadable";
  if (!signer || !isSignedBy(certificate, signer)) return "OtherAuthority";
  if (leftMs(leaf, now) < renewLeafAheadMs) return "Expiring";
  const has = hostsOf(leaf);
  if (hosts.some((host) => !has.includes(host))) return "OtherHosts";
  return undefined;
}

function isUsableAuthority(authority: KeyPair, now: Date): boolean {
  const certificate = certificateOf(authority);
  return certificate?.ca === true && leftMs(authority, now) > 0;
}

/** Undefined unless certificate and key can be read and belong together. */
function certificateOf(pair: KeyPair): X509Certificate | undefined {
  try {
    const certificate = new X509Certificate(pair.certificatePem);
    return certificate.checkPrivateKey(createPrivateKey(pair.keyPem)) ? certificate : undefined;
  } catch {
    return undefined;
  }
}

function isSignedBy(certificate: X509Certificate, authority: KeyPair): boolean {
  return certificate.verify(new X509Certificate(authority.certificatePem).publicKey);
}

function hostsOf(leaf: KeyPair | undefined): readonly string[] {
  const names = (leaf && certificateOf(leaf)?.subjectAltName) ?? "";
  return names
    .split(", ")
    .map((name) => name.replace(/^(DNS|IP Address):/u, ""))
    .filter((name) => name !== "")
    .map(hostOf);
}

/** One spelling for one address: node prints `0:0:0:0:0:0:0:1` where people write `::1`. */
export function hostOf(name: string): string {
  return isIP(name) === 6 ? new URL(`https://[${name}]`).hostname.slice(1, -1) : name.toLowerCase();
}

const leftMs = (pair: KeyPair, now: Date) =>
  new X509Certificate(pair.certificatePem).validToDate.getTime() - now.getTime();
const ageMs = (pair: KeyPair, now: Date) =>
  now.getTime() - new X509Certificate(pair.certificatePem).validFromDate.getTime();
