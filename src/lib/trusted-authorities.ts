import tls from "node:tls";

/**
 * Trusts a certificate authority (PEM) for all further TLS connections of this process, beside those of the system. False if this
 * Node cannot: it needs 22.19 or 24.5.
 */
export function trustAuthority(certificate: string): boolean {
  const { setDefaultCACertificates, getCACertificates } = tls as Partial<typeof tls>;
  if (!setDefaultCACertificates || !getCACertificates) return false;
  setDefaultCACertificates([...getCACertificates("default"), certificate]);
  return true;
}
