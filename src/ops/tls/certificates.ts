import { createPrivateKey, X509Certificate } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import { syncFolderNow } from "../../lib/durable-file.ts";
import { CallerError, UpstreamError } from "../../lib/errors.ts";
import { copyOwner } from "../../lib/file-ownership.ts";
import { type Sentence, sentence } from "../../lib/sentences/sentences.ts";
import type { CertificateAndKey } from "./certificate-authority.ts";

/** Content of a certificate. */
export interface CertificateFacts {
  /** `own`: signed by the appliance's own CA; `installed`: installed by an administrator. */
  origin: "own" | "installed";
  subject: string;
  issuer: string;
  /** Host names and addresses that it is valid for. */
  names: string[];
  /** Epoch ms. */
  validFrom: number;
  validTo: number;
  /** SHA-256, hex with colons. */
  fingerprint: string;
}

const DAY_MS = 86_400_000;
/** Renewed when a third of its lifetime is left. @source docs/decisions/0038-reliability.md */
const RENEW_AT_LIFETIME_SHARE = 2 / 3;
/** An installed certificate must be renewed by an administrator, who needs time for it. */
const WARN_MS = 30 * DAY_MS;
const CRITICAL_MS = 7 * DAY_MS;

const FILES = {
  authority: { certificate: "authority.crt", key: "authority.key" },
  own: { certificate: "server.crt", key: "server.key" },
  installed: { certificate: "installed.crt", key: "installed.key" },
} as const;

/** Path of the certificate of the own CA, which browsers must import once to trust it. */
export function authorityPath(dataDir: string): string {
  return join(dataDir, "tls", FILES.authority.certificate);
}

/** The certificate in use: an installed one, else the own one; null if there is none yet. */
export function readCertificate(dataDir: string): (CertificateAndKey & { facts: CertificateFacts }) | null {
  const origin = existsSync(join(dataDir, "tls", FILES.installed.certificate)) ? "installed" : "own";
  const pair = readPair(dataDir, origin);
  return pair && { ...pair, facts: parseCertificate(pair.certificate, origin) };
}

/** Creates the appliance's own CA if there is none. */
export async function ensureAuthority(dataDir: string, now: number): Promise<CertificateAndKey> {
  const existing = readPair(dataDir, "authority");
  if (existing) return existing;
  const { createCertificateAuthority } = await import("./certificate-authority.ts");
  const created = await createCertificateAuthority(hostname(), now);
  writePair(dataDir, "authority", created);
  return created;
}

/** Replaces the own CA by the one shared by all nodes; certificates of the previous CA are deleted and issued again. */
export function adoptAuthority(dataDir: string, authority: CertificateAndKey): void {
  if (readPair(dataDir, "authority")?.key === authority.key) return;
  writePair(dataDir, "authority", authority);
  for (const file of Object.values(FILES.own)) rmSync(join(dataDir, "tls", file), { force: true });
}

/**
 * Ensures a valid certificate of the own CA for all of `names`; true if a new one was issued. An installed certificate is
 * left alone: its administrator renews it.
 */
export async function ensureCertificate(dataDir: string, names: readonly string[], now: number): Promise<boolean> {
  const current = readCertificate(dataDir);
  if (current?.facts.origin === "installed") return false;
  if (
    current &&
    isBeforeRenewal(current.facts, now) &&
    names.every((name) => current.facts.names.includes(canonicalName(name)))
  )
    return false;
  const authority = await ensureAuthority(dataDir, now);
  const { issueServerCertificate } = await import("./certificate-authority.ts");
  writePair(dataDir, "own", await issueServerCertificate(authority, names, now));
  return true;
}

/**
 * Installs a certificate of another CA (PEM, followed by its chain) with its key. Throws CallerError if it can't be parsed,
 * does not match the key or has expired; nothing is changed then.
 */
export function installCertificate(dataDir: string, pair: CertificateAndKey, now: number): CertificateFacts {
  const invalidError = (message: string): CallerError => new CallerError("invalid-value", message);
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(pair.certificate);
  } catch {
    throw invalidError(sentence("error.invalid-certificate-must-be-pem-the-server-s-certificate-first-then-its-chain"));
  }
  try {
    if (!certificate.checkPrivateKey(createPrivateKey(pair.key)))
      throw invalidError(sentence("error.the-key-does-not-match-the-certificate"));
    createSecureContext({ cert: pair.certificate, key: pair.key });
  } catch (error) {
    throw error instanceof CallerError
      ? error
      : invalidError(sentence("error.invalid-key-must-be-pem-without-a-passphrase"));
  }
  const facts = parseCertificate(pair.certificate, "installed");
  if (facts.validTo <= now) throw invalidError(sentence("health.certificate-expired", { date: dayOf(facts.validTo) }));
  writePair(dataDir, "installed", pair);
  return facts;
}

/** Deletes an installed certificate; the own one is used again. */
export function removeInstalledCertificate(dataDir: string): void {
  for (const name of Object.values(FILES.installed)) rmSync(join(dataDir, "tls", name), { force: true });
}

/** Health reasons of the certificate in use. */
export function certificateHealthReasons(
  facts: CertificateFacts | null,
  now: number,
): { level: "red" | "yellow"; code: string; reason: Sentence }[] {
  if (!facts || facts.validTo - now > WARN_MS) return [];
  const level = facts.validTo - now <= CRITICAL_MS ? "red" : "yellow";
  const [own, installed] =
    facts.validTo <= now
      ? (["health.certificate-expired", "health.installed-certificate-expired"] as const)
      : (["health.certificate-expires", "health.installed-certificate-expires"] as const);
  const reason = sentence(facts.origin === "own" ? own : installed, { date: dayOf(facts.validTo) });
  return [{ level, code: "certificate", reason }];
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

/** Canonical form of an address or a name. */
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
    throw new UpstreamError(
      "starting",
      sentence("error.can-t-read-file", { file: join(folder, key) }),
      { dataDir },
      error,
    );
  }
}

/** The key is written before the certificate, whose presence means that both are complete. */
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
  syncFolderNow(folder);
  copyOwner(folder, dataDir);
}
