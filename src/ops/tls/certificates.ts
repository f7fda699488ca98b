import { createPrivateKey, X509Certificate } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import { CallerError, UpstreamError } from "../../lib/errors.ts";
import { copyOwner } from "../../lib/file-ownership.ts";
import type { CertificateAndKey } from "./certificate-authority.ts";

/** What a certificate says. */
export interface CertificateFacts {
  /** Whether the appliance's own authority signed it, or somebody installed it. */
  origin: "own" | "installed";
  subject: string;
  issuer: string;
  /** Host names and addresses that it is good for. */
  names: string[];
  /** Epoch ms. */
  validFrom: number;
  validTo: number;
  /** SHA-256, hex with colons. */
  fingerprint: string;
}

const DAY_MS = 86_400_000;
/** A new one is made when a third of the time is left. @source reliability.md 3, T21 */
const RENEW_AT_LIFETIME_SHARE = 2 / 3;
/** own choice: somebody must fetch a new one by hand */
const WARN_MS = 30 * DAY_MS;
const CRITICAL_MS = 7 * DAY_MS;

const FILES = {
  authority: { certificate: "authority.crt", key: "authority.key" },
  own: { certificate: "server.crt", key: "server.key" },
  installed: { certificate: "installed.crt", key: "installed.key" },
} as const;

/** Path of the certificate of the appliance's own authority, which browsers are given once to trust it. */
export function authorityPath(dataDir: string): string {
  return join(dataDir, "tls", FILES.authority.certificate);
}

/** The certificate that the server shows: one that was installed, else the own one; null where there is none yet. */
export function readCertificate(dataDir: string): (CertificateAndKey & { facts: CertificateFacts }) | null {
  const origin = existsSync(join(dataDir, "tls", FILES.installed.certificate)) ? "installed" : "own";
  const found = readPair(dataDir, origin);
  return found && { ...found, facts: parseCertificate(found.certificate, origin) };
}

/** Makes the appliance's own authority where there is none. */
export async function ensureAuthority(dataDir: string, now: number): Promise<CertificateAndKey> {
  const known = readPair(dataDir, "authority");
  if (known) return known;
  const { createCertificateAuthority } = await import("./certificate-authority.ts");
  const made = await createCertificateAuthority(hostname(), now);
  writePair(dataDir, "authority", made);
  return made;
}

/** Takes the authority that others have as their own; what the one before signed for this machine is made anew. */
export function adoptAuthority(dataDir: string, authority: CertificateAndKey): void {
  if (readPair(dataDir, "authority")?.key === authority.key) return;
  writePair(dataDir, "authority", authority);
  for (const file of Object.values(FILES.own)) rmSync(join(dataDir, "tls", file), { force: true });
}

/**
 * Sees to a good certificate of the own authority for all of `names`; true when a new one was made. An installed one is
 * left alone: whoever installed it renews it.
 */
export async function ensureCertificate(dataDir: string, names: readonly string[], now: number): Promise<boolean> {
  const shown = readCertificate(dataDir);
  if (shown?.facts.origin === "installed") return false;
  if (
    shown &&
    isBeforeRenewal(shown.facts, now) &&
    names.every((name) => shown.facts.names.includes(canonicalName(name)))
  )
    return false;
  const authority = await ensureAuthority(dataDir, now);
  const { issueServerCertificate } = await import("./certificate-authority.ts");
  writePair(dataDir, "own", await issueServerCertificate(authority, names, now));
  return true;
}

/**
 * Takes a certificate from elsewhere (PEM, its chain behind it) with its key. Throws CallerError for what can't be read,
 * does not belong together or has expired; nothing is changed then.
 */
export function installCertificate(dataDir: string, pair: CertificateAndKey, now: number): CertificateFacts {
  const refused = (message: string): CallerError => new CallerError("invalid-value", message);
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(pair.certificate);
  } catch {
    throw refused("The certificate can't be read: PEM is expected, the server's own first, then its chain.");
  }
  try {
    if (!certificate.checkPrivateKey(createPrivateKey(pair.key)))
      throw refused("The key is not that of the certificate.");
    createSecureContext({ cert: pair.certificate, key: pair.key });
  } catch (error) {
    throw error instanceof CallerError ? error : refused("The key can't be read: PEM without a password is expected.");
  }
  const facts = parseCertificate(pair.certificate, "installed");
  if (facts.validTo <= now) throw refused(`The certificate expired on ${dayOf(facts.validTo)}.`);
  writePair(dataDir, "installed", pair);
  return facts;
}

/** Forgets an installed certificate; the own one is shown again. */
export function removeInstalledCertificate(dataDir: string): void {
  for (const name of Object.values(FILES.installed)) rmSync(join(dataDir, "tls", name), { force: true });
}

/** What is wrong with the certificate that is shown. */
export function certificateHealthReasons(
  facts: CertificateFacts | null,
  now: number,
): { level: "red" | "yellow"; code: string; reason: string }[] {
  if (!facts || facts.validTo - now > WARN_MS) return [];
  const level = facts.validTo - now <= CRITICAL_MS ? "red" : "yellow";
  const what = facts.validTo <= now ? "expired" : "expires";
  const next = facts.origin === "own" ? "" : " Install a new one: carillon tls install.";
  return [{ level, code: "certificate", reason: `The certificate ${what} on ${dayOf(facts.validTo)}.${next}` }];
}

function isBeforeRenewal({ validFrom, validTo }: CertificateFacts, now: number): boolean {
  return now < validFrom + (validTo - validFrom) * RENEW_AT_LIFETIME_SHARE;
}

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

function parseCertificate(pem: string, origin: CertificateFacts["origin"]): CertificateFacts {
  const { subject, issuer, subjectAltName = "", validFrom, validTo, fingerprint256 } = new X509Certificate(pem);
  const names = subjectAltName.split(", ").flatMap((entry) => {
    const [, name] = /^(?:DNS|IP Address):(.+)$/.exec(entry) ?? [];
    return name === undefined ? [] : [canonicalName(name)];
  });
  const times = { validFrom: Date.parse(validFrom), validTo: Date.parse(validTo) };
  return { origin, subject, issuer, names, ...times, fingerprint: fingerprint256 };
}

/** One spelling of an address or a name. */
function canonicalName(name: string): string {
  const lower = name.toLowerCase();
  return lower.includes(":") && URL.canParse(`http://[${lower}]`) ? new URL(`http://[${lower}]`).hostname : lower;
}

function readPair(dataDir: string, which: keyof typeof FILES): CertificateAndKey | null {
  const folder = join(dataDir, "tls");
  const { certificate, key } = FILES[which];
  if (!existsSync(join(folder, certificate))) return null;
  try {
    return {
      certificate: readFileSync(join(folder, certificate), "utf8"),
      key: readFileSync(join(folder, key), "utf8"),
    };
  } catch (error) {
    throw new UpstreamError("starting", `${join(folder, key)} can't be read.`, { dataDir }, error);
  }
}

/** The key is in place before the certificate, which says that both are there. */
function writePair(dataDir: string, which: keyof typeof FILES, pair: CertificateAndKey): void {
  const folder = join(dataDir, "tls");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const part of ["key", "certificate"] as const) {
    const path = join(folder, FILES[which][part]);
    writeFileSync(`${path}.new`, pair[part], { mode: 0o600, flush: true });
    if (part === "certificate") chmodSync(`${path}.new`, 0o644);
  }
  for (const part of ["key", "certificate"] as const) {
    const path = join(folder, FILES[which][part]);
    renameSync(`${path}.new`, path);
  }
  copyOwner(folder, dataDir);
}
