import type { Element } from "@xmldom/xmldom";
import { childElements, childText, childTexts, parseXml } from "./xml.ts";

export interface ReceivedAlertArea {
  areaDesc: string;
  /** Rings of `lat,lon` pairs separated by spaces. */
  polygons: string[];
  /** `lat,lon km`. */
  circles: string[];
  /** `name=value`. */
  geocodes: string[];
}

/** The relevant part of an alert in one language; missing texts are empty. @source CAP 1.2 §3.2 */
export interface ReceivedAlert {
  identifier: string;
  sender: string;
  sent: string;
  status: string;
  msgType: string;
  references: string;
  categories: string[];
  event: string;
  eventCodes: string[];
  urgency: string;
  severity: string;
  certainty: string;
  /** Epoch ms; null without `expires`. */
  expiresAt: number | null;
  texts: Readonly<Record<"senderName" | "headline" | "description" | "instruction" | "web" | "contact", string>>;
  areas: ReceivedAlertArea[];
}

/** Versions 1.0 and 1.1 use the same elements. */
const NAMESPACE = /^(urn:oasis:names:tc:emergency:cap:1\.[12]|http:\/\/www\.incident\.com\/cap\/1\.0)$/;
const REQUIRED_ELEMENTS = ["identifier", "sender", "sent", "status", "msgType"] as const;

/**
 * Parses an alert in the language with this prefix, or else in its first language. Throws RangeError for an invalid
 * alert.
 */
export function parseAlert(xml: string, language: string): ReceivedAlert {
  const root = parseXml(xml);
  if (root.localName !== "alert" || !NAMESPACE.test(root.namespaceURI ?? "")) throw new RangeError("not a CAP alert");
  const missing = REQUIRED_ELEMENTS.find((name) => childText(root, name) === "");
  if (missing) throw new RangeError(`element ${missing} is missing`);
  if (Number.isNaN(Date.parse(childText(root, "sent")))) throw new RangeError("element sent must be a time");
  const infos = childElements(root, "info");
  const isOurs = (info: Element): boolean =>
    (childText(info, "language") || "en-US").toLowerCase().startsWith(language.toLowerCase());
  const info = infos.find(isOurs) ?? infos[0];
  const text = (name: string): string => (info ? childText(info, name) : "");
  const expires = Date.parse(text("expires"));
  return {
    identifier: childText(root, "identifier"),
    sender: childText(root, "sender"),
    sent: childText(root, "sent"),
    status: childText(root, "status"),
    msgType: childText(root, "msgType"),
    references: childText(root, "references"),
    categories: info ? childTexts(info, "category") : [],
    event: text("event"),
    eventCodes: info ? namedValues(info, "eventCode").map(({ value }) => value) : [],
    urgency: text("urgency"),
    severity: text("severity"),
    certainty: text("certainty"),
    expiresAt: Number.isNaN(expires) ? null : expires,
    texts: {
      senderName: text("senderName"),
      headline: text("headline"),
      description: text("description"),
      instruction: text("instruction"),
      web: text("web"),
      contact: text("contact"),
    },
    areas: info ? childElements(info, "area").map(parseArea) : [],
  };
}

function parseArea(area: Element): ReceivedAlertArea {
  return {
    areaDesc: childText(area, "areaDesc"),
    polygons: childTexts(area, "polygon"),
    circles: childTexts(area, "circle"),
    geocodes: namedValues(area, "geocode").map(({ name, value }) => `${name}=${value}`),
  };
}

function namedValues(element: Element, name: string): { name: string; value: string }[] {
  return childElements(element, name).map((each) => ({
    name: childText(each, "valueName"),
    value: childText(each, "value"),
  }));
}
