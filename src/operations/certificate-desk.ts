import { readFileSync } from "node:fs";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import {
  authorityPath,
  type CertificateFacts,
  installCertificate,
  prepareAuthority,
  readCertificate,
  removeInstalled,
} from "./certificates.ts";
import type { CertificateAndKey } from "./make-certificate.ts";

/** Which certificate is shown, and whom browsers are to trust for the appliance's own ones. */
export interface CertificateReport {
  /** Null where the appliance has not served by TLS yet. */
  facts: CertificateFacts | null;
  /** Certificate of the own authority, PEM. */
  authority: string;
}

/** The certificate of the API, for people who look after it from elsewhere. */
export interface CertificateDesk {
  report(): Promise<CertificateReport>;
  /** Shows another one to whoever connects from now on. Throws CallerError; the one before stays then. */
  install(pair: CertificateAndKey): Promise<CertificateReport>;
  /** Shows one of the own authority again. */
  remove(): Promise<CertificateReport>;
}

/** What the desk needs. */
export interface CertificateDeskNeeds {
  dataDir: string;
  clock: Clock;
  log: Log;
  /** Shows what lies in the data directory now. */
  reload(): Promise<void>;
}

/** Opens the desk. */
export function createCertificateDesk({ dataDir, clock, log, reload }: CertificateDeskNeeds): CertificateDesk {
  const report = async (): Promise<CertificateReport> => {
    await prepareAuthority(dataDir, clock.now());
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
      removeInstalled(dataDir);
      log.info("the own certificate is shown again");
      await reload();
      return report();
    },
  };
}
