import { readFileSync } from "node:fs";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { CertificateAndKey } from "./certificate-authority.ts";
import {
  authorityPath,
  type CertificateFacts,
  ensureAuthority,
  installCertificate,
  readCertificate,
  removeInstalledCertificate,
} from "./certificates.ts";

/** Which certificate is shown, and whom browsers are to trust for the appliance's own ones. */
export interface CertificateReport {
  /** Null where the appliance has not served by TLS yet. */
  facts: CertificateFacts | null;
  /** Certificate of the own authority, PEM. */
  authority: string;
}

/** The certificate of the API, for people who look after it from elsewhere. */
export interface CertificateService {
  report(): Promise<CertificateReport>;
  /** Shows another one to whoever connects from now on. Throws CallerError; the one before stays then. */
  install(pair: CertificateAndKey): Promise<CertificateReport>;
  /** Shows one of the own authority again. */
  remove(): Promise<CertificateReport>;
}

/** What the desk needs. */
export interface CertificateServiceDeps {
  dataDir: string;
  clock: Clock;
  log: Log;
  /** Shows what lies in the data directory now. */
  reload(): Promise<void>;
}

/** Opens the desk. */
export function createCertificateService({ dataDir, clock, log, reload }: CertificateServiceDeps): CertificateService {
  const report = async (): Promise<CertificateReport> => {
    await ensureAuthority(dataDir, clock.now());
    return {
      facts: readCertificate(dataDir)?.facts ?? null,
      authority: readFileSync(authorityPath(dataDir), "utf8"),
    };
  };
  return {
    report,
    async install(pair) {
      const { subject, fingerprint } = installCertificate(dataDir, pair, clock.now());
      log.info({ subject, fingerprint }, "another certificate is shown");
      await reload();
      return report();
    },
    async remove() {
      removeInstalledCertificate(dataDir);
      log.info("the own certificate is shown again");
      await reload();
      return report();
    },
  };
}
