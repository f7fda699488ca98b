import { SignedXml } from "xml-crypto";
import { capTime, type PublishedAlert } from "./alert.ts";
import { xmlElement } from "./xml.ts";

/** Sender details in every alert. */
export interface AlertSenderDetails {
  senderName: string | null;
  contact: string | null;
  language: string;
}

/** Signing key and certificate, both PEM. */
export interface AlertSigner {
  key: string;
  certificate: string;
}

const NAMESPACE = "urn:oasis:names:tc:emergency:cap:1.2";
const ENVELOPED = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";
const EXCLUSIVE = "http://www.w3.org/2001/10/xml-exc-c14n#";
const SHA256 = "http://www.w3.org/2001/04/xmlenc#sha256";
const RSA_SHA256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";

/** Renders an alert, always as the same bytes; signed if there is a signer. Throws if the signer's key is invalid. */
export function capDocument(alert: PublishedAlert, details: AlertSenderDetails, signer: AlertSigner | null): string {
  const xml = alertElement(alert, details);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${signer === null ? xml : signXml(xml, signer)}\n`;
}

function alertElement(alert: PublishedAlert, details: AlertSenderDetails): string {
  const { identifier, sender, sentAt, status, msgType, scope, references } = alert;
  return [
    `<alert xmlns="${NAMESPACE}">`,
    xmlElement("identifier", identifier),
    xmlElement("sender", sender),
    xmlElement("sent", capTime(sentAt)),
    xmlElement("status", status),
    xmlElement("msgType", msgType),
    xmlElement("scope", scope),
    xmlElement("restriction", scope === "Restricted" ? "For readers of this feed" : null),
    xmlElement("note", status === "Exercise" ? "This is a drill." : null),
    xmlElement("references", references.join(" ")),
    infoElement(alert, details),
    "</alert>",
  ].join("");
}

/** Elements in schema order. @source CAP 1.2 §3.2.2 */
function infoElement(alert: PublishedAlert, { senderName, contact, language }: AlertSenderDetails): string {
  const { category, event, responseType, urgency, severity, certainty, sentAt, expiresAt } = alert;
  return [
    "<info>",
    xmlElement("language", language),
    xmlElement("category", category),
    xmlElement("event", event),
    xmlElement("responseType", responseType),
    xmlElement("urgency", urgency),
    xmlElement("severity", severity),
    xmlElement("certainty", certainty),
    xmlElement("effective", capTime(sentAt)),
    xmlElement("expires", capTime(expiresAt)),
    xmlElement("senderName", senderName),
    xmlElement("headline", alert.headline),
    xmlElement("description", alert.description),
    xmlElement("instruction", alert.instruction),
    xmlElement("contact", contact),
    areaElement(alert),
    "</info>",
  ].join("");
}

function areaElement({ place }: PublishedAlert): string {
  const { areaDesc, polygons, circles, geocodes } = place;
  return [
    "<area>",
    xmlElement("areaDesc", areaDesc),
    ...polygons.map((each) => xmlElement("polygon", each)),
    ...circles.map((each) => xmlElement("circle", each)),
    ...geocodes.map(
      ({ valueName, value }) => `<geocode>${xmlElement("valueName", valueName)}${xmlElement("value", value)}</geocode>`,
    ),
    "</area>",
  ].join("");
}

/** Adds an enveloped signature. @source CAP 1.2 §3.3.4.1; XML Signature 1.1 */
function signXml(xml: string, { key, certificate }: AlertSigner): string {
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
