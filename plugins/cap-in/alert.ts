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

/** One `info` of an alert; missing texts are empty. @source CAP 1.2 §3.2.2 */
export interface AlertInfo {
  categories: string[];
  event: string;
  eventCodes: string[];
  responseTypes: string[];
  urgency: string;
  severity: string;
  certainty: string;
  /** Epoch ms; null without `expires`. */
  expiresAt: number | null;
  texts: Readonly<Record<"senderName" | "headline" | "description" | "instruction" | "web" | "contact", string>>;
  areas: ReceivedAlertArea[];
}

/** An alert in one language. @source CAP 1.2 §3.2 */
export interface ReceivedAlert {
  identifier: string;
  sender: string;
  sent: string;
  status: string;
  msgType: string;
  references: string;
  /** Each has its own areas and severity; none in most cancellations. */
  infos: AlertInfo[];
}

/** Versions 1.0 and 1.1 use the same elements. */
const NAMESPACE = /^(urn:oasis:names:tc:emergency:cap:1\.[12]|http:\/\/www\.incident\.com\/cap\/1\.0)$/;
const REQUIRED_ELEMENTS = ["identifier", "sender", "sent", "status", "msgType"] as const;

/**
 * Parses an alert in the language with this prefix, or else in the language of its first `info`. Throws RangeError for an
 * invalid alert.
 */
export function parseAlert(xml: string, language: string): ReceivedAlert {
  const root = parseXml(xml);
  if (root.localName !== "alert" || !NAMESPACE.test(root.namespaceURI ?? "")) throw new RangeError("not a CAP alert");
  const missing = REQUIRED_ELEMENTS.find((name) => childText(root, name) === "");
  if (missing) throw new RangeError(`element ${missing} is missing`);
  if (Number.isNaN(Date.parse(childText(root, "sent")))) throw new RangeError("element sent must be a time");
  return {
    identifier: childText(root, "identifier"),
    sender: childText(root, "sender"),
    sent: childText(root, "sent"),
    status: childText(root, "status"),
    msgType: childText(root, "msgType"),
    references: childText(root, "references"),
    infos: infosIn(root, language.toLowerCase()).map(parseInfo),
  };
}

function infosIn(root: Element, language: string): Element[] {
  const infos = childElements(root, "info");
  const languageOf = (info: Element): string => (childText(info, "language") || "en-US").toLowerCase();
  const ours = infos.filter((info) => languageOf(info).startsWith(language));
  const [first] = infos;
  return ours.length > 0 || !first ? ours : infos.filter((info) => languageOf(info) === languageOf(first));
}

function parseInfo(info: Element): AlertInfo {
  const text = (name: string): string => childText(info, name);
  const expires = Date.parse(text("expires"));
  return {
    categories: childTexts(info, "category"),
    event: text("event"),
    eventCodes: namedValues(info, "eventCode").map(({ value }) => value),
    responseTypes: childTexts(info, "responseType"),
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
    areas: childElements(info, "area").map(parseArea),
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
