import { X509Certificate } from "node:crypto";
import type { Element } from "@xmldom/xmldom";
import { SignedXml } from "xml-crypto";
import { childElements, parseXml } from "./xml.ts";

const DSIG = "http://www.w3.org/2000/09/xmldsig#";
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Reads certificates; throws what Node says of one that is none. */
export function parseCertificates(pem: string | null): X509Certificate[] {
  return ((pem ?? "").match(PEM) ?? []).map((each) => new X509Certificate(each));
}

/**
 * What of a document is signed by a certificate that is trusted, or that a trusted one has signed: only that may be read.
 * Throws RangeError in words for anything else. @source XML Signature 1.1; CAP 1.2 §3.3.4.1
 */
export function verifiedContent(text: string, trusted: readonly X509Certificate[], now: number): string {
  const root = parseXml(text);
  const [signature, ...more] = childElements(root, "Signature").filter(({ namespaceURI }) => namespaceURI === DSIG);
  if (!signature) throw new RangeError("it is not signed");
  if (more.length > 0) throw new RangeError("it is signed more than once");
  const certificate = trustedSigner(signature, trusted, now);
  // The key comes from the certificate that was judged, never from what the document says.
  const check = new SignedXml({ publicCert: certificate.toString(), getCertFromKeyInfo: () => null });
  check.loadSignature(signature);
  if (!isSignatureValid(check, text)) throw new RangeError("its signature is wrong");
  const [part, ...others] = check.getSignedReferences();
  // What is signed is the whole alert, not some element within another.
  if (part === undefined || others.length > 0 || parseXml(part).localName !== root.localName)
    throw new RangeError("not the whole of it is signed");
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
  const shown = embeddedCertificate(signature);
  const known = shown === null ? trusted[0] : shown;
  if (!known || (shown === null && trusted.length > 1)) throw new RangeError("it does not say who signed it");
  const isKnown = trusted.some(
    (each) =>
      each.fingerprint256 === known.fingerprint256 ||
      (each.ca && known.checkIssued(each) && known.verify(each.publicKey)),
  );
  if (!isKnown) throw new RangeError("nobody who is trusted has signed it");
  if (Date.parse(known.validFrom) > now || Date.parse(known.validTo) < now)
    throw new RangeError("the certificate that signed it is not valid now");
  return known;
}

function embeddedCertificate(signature: Element): X509Certificate | null {
  const [info] = childElements(signature, "KeyInfo");
  const [data] = info ? childElements(info, "X509Data") : [];
  const text = data ? (childElements(data, "X509Certificate")[0]?.textContent ?? "") : "";
  if (text === "") return null;
  try {
    return new X509Certificate(Buffer.from(text, "base64"));
  } catch {
    throw new RangeError("the certificate in it can't be read");
  }
}
