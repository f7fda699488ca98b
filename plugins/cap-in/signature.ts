import { X509Certificate } from "node:crypto";
import type { Element } from "@xmldom/xmldom";
import { SignedXml } from "xml-crypto";
import { childElements, parseXml } from "./xml.ts";

const DSIG = "http://www.w3.org/2000/09/xmldsig#";
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Parses certificates; throws Node's error for an invalid one. */
export function parseCertificates(pem: string | null): X509Certificate[] {
  return ((pem ?? "").match(PEM) ?? []).map((each) => new X509Certificate(each));
}

/**
 * Returns the signed content of a document. The signer must be a trusted certificate, or be issued by one; unsigned
 * content must not be used. Throws RangeError if verification fails.
 * @source XML Signature 1.1; CAP 1.2 §3.3.4.1
 */
export function verifiedContent(text: string, trusted: readonly X509Certificate[], now: number): string {
  const root = parseXml(text);
  const [signature, ...more] = childElements(root, "Signature").filter(({ namespaceURI }) => namespaceURI === DSIG);
  if (!signature) throw new RangeError("not signed");
  if (more.length > 0) throw new RangeError("more than one signature");
  const certificate = trustedSigner(signature, trusted, now);
  // The key comes from the verified certificate, never from the document.
  const check = new SignedXml({ publicCert: certificate.toString(), getCertFromKeyInfo: () => null });
  check.loadSignature(signature);
  if (!isSignatureValid(check, text)) throw new RangeError("invalid signature");
  const [part, ...others] = check.getSignedReferences();
  // The signature must cover the whole alert, not some nested element.
  if (part === undefined || others.length > 0 || parseXml(part).localName !== root.localName)
    throw new RangeError("the signature does not cover the whole alert");
  return part;
}

function isSignatureValid(check: SignedXml, text: string): boolean {
  try {
    return check.checkSignature(text);
  } catch {
    return false;
  }
}

function trustedSigner(signature: Element, trusted: readonly X509Certificate[], now: number): X509Certificate {
  const embedded = embeddedCertificate(signature);
  const signer = embedded === null ? trusted[0] : embedded;
  if (!signer || (embedded === null && trusted.length > 1))
    throw new RangeError("the signature does not name its certificate");
  const isTrusted = trusted.some(
    (each) =>
      each.fingerprint256 === signer.fingerprint256 ||
      (each.ca && signer.checkIssued(each) && signer.verify(each.publicKey)),
  );
  if (!isTrusted) throw new RangeError("the signer is not trusted");
  if (Date.parse(signer.validFrom) > now || Date.parse(signer.validTo) < now)
    throw new RangeError("the signer's certificate is not valid at this time");
  return signer;
}

function embeddedCertificate(signature: Element): X509Certificate | null {
  const [info] = childElements(signature, "KeyInfo");
  const [data] = info ? childElements(info, "X509Data") : [];
  const text = data ? (childElements(data, "X509Certificate")[0]?.textContent ?? "") : "";
  if (text === "") return null;
  try {
    return new X509Certificate(Buffer.from(text, "base64"));
  } catch {
    throw new RangeError("the embedded certificate is invalid");
  }
}
