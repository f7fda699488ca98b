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

/** The certificate in use, and the CA for browsers to trust. */
export interface CertificateReport {
  /** Null if the appliance has not used TLS yet. */
  facts: CertificateFacts | null;
  /** Certificate of the appliance's own CA, PEM. */
  authority: string;
}

/** Manages the certificate of the API, for the console. */
export interface CertificateService {
  report(): Promise<CertificateReport>;
  /** Installs a certificate for new connections. Throws CallerError if it is invalid, and keeps the previous one. */
  install(pair: CertificateAndKey): Promise<CertificateReport>;
  /** Returns to a certificate of the own CA. */
  remove(): Promise<CertificateReport>;
}

export interface CertificateServiceDeps {
  dataDir: string;
  clock: Clock;
  log: Log;
  /** Loads the certificate that is now in the data directory. */
  reload(): Promise<void>;
}

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
      log.info({ event: "tls.certificate_installed", subject, fingerprint }, "certificate installed");
      await reload();
      return report();
    },
    async remove() {
      removeInstalledCertificate(dataDir);
      log.info({ event: "tls.certificate_removed" }, "installed certificate removed; using the own certificate");
      await reload();
      return report();
    },
  };
}
