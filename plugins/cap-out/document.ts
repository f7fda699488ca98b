import { SignedXml } from "xml-crypto";
import { type Alert, capTime } from "./alert.ts";
import { element } from "./xml.ts";

/** Who stands in every alert. */
export interface Letterhead {
  senderName: string | null;
  contact: string | null;
  language: string;
}

/** With what alerts are signed; both PEM. */
export interface Signer {
  key: string;
  certificate: string;
}

const NAMESPACE = "urn:oasis:names:tc:emergency:cap:1.2";
const ENVELOPED = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";
const EXCLUSIVE = "http://www.w3.org/2001/10/xml-exc-c14n#";
const SHA256 = "http://www.w3.org/2001/04/xmlenc#sha256";
const RSA_SHA256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";

/** The document of an alert, the same bytes each time; signed where there is a signer. Throws what the signer's key is not. */
export function documentOf(alert: Alert, letterhead: Letterhead, signer: Signer | null): string {
  const xml = bodyOf(alert, letterhead);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${signer === null ? xml : signed(xml, signer)}\n`;
}

function bodyOf(alert: Alert, letterhead: Letterhead): string {
  const { identifier, sender, sentAt, status, msgType, scope, references } = alert;
  return [
    `<alert xmlns="${NAMESPACE}">`,
    element("identifier", identifier),
    element("sender", sender),
    element("sent", capTime(sentAt)),
    element("status", status),
    element("msgType", msgType),
    element("scope", scope),
    element("restriction", scope === "Restricted" ? "For readers of this feed" : null),
    element("note", status === "Exercise" ? "This is a drill." : null),
    element("references", references.join(" ")),
    infoOf(alert, letterhead),
    "</alert>",
  ].join("");
}

/** @source CAP 1.2 §3.2.2, in the order of its schema */
function infoOf(alert: Alert, { senderName, contact, language }: Letterhead): string {
  const { category, event, responseType, urgency, severity, certainty, sentAt, expiresAt } = alert;
  return [
    "<info>",
    element("language", language),
    element("category", category),
    element("event", event),
    element("responseType", responseType),
    element("urgency", urgency),
    element("severity", severity),
    element("certainty", certainty),
    element("effective", capTime(sentAt)),
    element("expires", capTime(expiresAt)),
    element("senderName", senderName),
    element("headline", alert.headline),
    element("description", alert.description),
    element("instruction", alert.instruction),
    element("contact", contact),
    areaOf(alert),
    "</info>",
  ].join("");
}

function areaOf({ place }: Alert): string {
  const { areaDesc, polygons, circles, geocodes } = place;
  return [
    "<area>",
    element("areaDesc", areaDesc),
    ...polygons.map((each) => element("polygon", each)),
    ...circles.map((each) => element("circle", each)),
    ...geocodes.map(
      ({ valueName, value }) => `<geocode>${element("valueName", valueName)}${element("value", value)}</geocode>`,
    ),
    "</area>",
  ].join("");
}

/** @source CAP 1.2 §3.3.4.1: an enveloped signature; XML Signature 1.1 */
function signed(xml: string, { key, certificate }: Signer): string {
  const signature = new SignedXml({
    privateKey: key,
    publicCert: certificate,
    signatureAlgorithm: RSA_SHA256,
    canonicalizationAlgorithm: EXCLUSIVE,
  });
  const transforms = [ENVELOPED, EXCLUSIVE];
  signature.addReference({ xpath: "/*", transforms, digestAlgorithm: SHA256, uri: "", isEmptyUri: true });
  signature.computeSignature(xml, { location: { reference: "/*", action: "append" } });
  return signature.getSignedXml();
}
