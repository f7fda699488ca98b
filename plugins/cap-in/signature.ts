import { X509Certificate } from "node:crypto";
import { type Element, XMLSerializer } from "@xmldom/xmldom";
import { SignedXml } from "xml-crypto";
import { childElements, parseXml } from "./xml.ts";

const DSIG = "http://www.w3.org/2000/09/xmldsig#";
/** Issuer and distributor sign an alert; each more costs another check. */
const MAX_SIGNATURES = 4;
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Parses certificates; throws Node's error for an invalid one. */
export function parseCertificates(pem: string | null): X509Certificate[] {
  return ((pem ?? "").match(PEM) ?? []).map((each) => new X509Certificate(each));
}

/**
 * Returns the signed content of a document. The signer must be a trusted certificate, or be issued by one; unsigned
 * content must not be used. Of several signatures one must be good: who distributes an alert signs it after its issuer,
 * whose signature then covers the alert without the later ones. Throws RangeError if verification fails.
 * @source XML Signature 1.1; CAP 1.2 §3.3.4.1; docs/decisions/0549-signatures-of-alerts.md
 */
export function verifiedContent(text: string, trusted: readonly X509Certificate[], now: number): string {
  const count = signaturesOf(parseXml(text)).length;
  if (count === 0) throw new RangeError("not signed");
  if (count > MAX_SIGNATURES) throw new RangeError(`more than ${MAX_SIGNATURES} signatures`);
  let failure = new RangeError("the signer is not trusted");
  for (let at = count - 1; at >= 0; at--) {
    try {
      const content = verifiedBy(at, text, trusted, now);
      if (content !== null) return content;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      failure = error;
    }
  }
  throw failure;
}

/** Verifies the signature at a position; if it is not good, once more without those after it. Null for one that is not trusted. */
function verifiedBy(at: number, text: string, trusted: readonly X509Certificate[], now: number): string | null {
  const root = parseXml(text);
  const [signature, ...later] = signaturesOf(root).slice(at);
  if (!signature) throw new RangeError("not signed");
  const certificate = trustedSigner(signature, trusted, now);
  if (certificate === null) return null;
  try {
    return verifiedPart(signature, certificate, text);
  } catch (error) {
    if (later.length === 0) throw error;
    for (const each of later) root.removeChild(each);
    return verifiedPart(signature, certificate, new XMLSerializer().serializeToString(root));
  }
}

function signaturesOf(root: Element): Element[] {
  return childElements(root, "Signature").filter(({ namespaceURI }) => namespaceURI === DSIG);
}

function verifiedPart(signature: Element, certificate: X509Certificate, text: string): string {
  // The key comes from the verified certificate, never from the document.
  const check = new SignedXml({ publicCert: certificate.toString(), getCertFromKeyInfo: () => null });
  if (!isSignatureValid(check, signature, text)) throw new RangeError("invalid signature");
  const [part, ...others] = check.getSignedReferences();
  // The signature must cover the whole alert, not some nested element.
  if (part === undefined || others.length > 0 || parseXml(part).localName !== parseXml(text).localName)
    throw new RangeError("the signature does not cover the whole alert");
  return part;
}

function isSignatureValid(check: SignedXml, signature: Element, text: string): boolean {
  try {
    check.loadSignature(signature);
    return check.checkSignature(text);
  } catch {
    return false;
  }
}

function trustedSigner(signature: Element, trusted: readonly X509Certificate[], now: number): X509Certificate | null {
  const embedded = embeddedCertificate(signature);
  const signer = embedded === null ? trusted[0] : embedded;
  if (!signer || (embedded === null && trusted.length > 1))
    throw new RangeError("the signature does not name its certificate");
  const isTrusted = trusted.some(
    (each) =>
      each.fingerprint256 === signer.fingerprint256 ||
      (each.ca && signer.checkIssued(each) && signer.verify(each.publicKey)),
  );
  if (!isTrusted) return null;
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
