import type { Element } from "@xmldom/xmldom";
import { childElements, childText, childTexts, parseXml } from "./xml.ts";

/** Where an alert holds. */
export interface ReceivedAlertArea {
  areaDesc: string;
  /** Rings of `lat,lon`, blank between. */
  polygons: string[];
  /** `lat,lon km`. */
  circles: string[];
  /** `name=value`. */
  geocodes: string[];
}

/** An alert as far as it matters here, in one language; empty texts for what it does not say. @source CAP 1.2 §3.2 */
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
  /** Epoch ms; null for one that does not say. */
  expiresAt: number | null;
  texts: Readonly<Record<"senderName" | "headline" | "description" | "instruction" | "web" | "contact", string>>;
  areas: ReceivedAlertArea[];
}

/** Also versions 1.0 and 1.1, which say the same in the same words. */
const NAMESPACE = /^(urn:oasis:names:tc:emergency:cap:1\.[12]|http:\/\/www\.incident\.com\/cap\/1\.0)$/;
const REQUIRED_ELEMENTS = ["identifier", "sender", "sent", "status", "msgType"] as const;

/** Reads an alert in the language that begins so, or else in its first. Throws RangeError for what is none. */
export function parseAlert(text: string, language: string): ReceivedAlert {
  const root = parseXml(text);
  if (root.localName !== "alert" || !NAMESPACE.test(root.namespaceURI ?? ""))
    throw new RangeError("it is no CAP alert");
  const lacking = REQUIRED_ELEMENTS.find((name) => childText(root, name) === "");
  if (lacking) throw new RangeError(`it says no ${lacking}`);
  if (Number.isNaN(Date.parse(childText(root, "sent")))) throw new RangeError("its sent is no time");
  const infos = childElements(root, "info");
  const isOurs = (info: Element): boolean =>
    (childText(info, "language") || "en-US").toLowerCase().startsWith(language.toLowerCase());
  const info = infos.find(isOurs) ?? infos[0];
  const said = (name: string): string => (info ? childText(info, name) : "");
  const expires = Date.parse(said("expires"));
  return {
    identifier: childText(root, "identifier"),
    sender: childText(root, "sender"),
    sent: childText(root, "sent"),
    status: childText(root, "status"),
    msgType: childText(root, "msgType"),
    references: childText(root, "references"),
    categories: info ? childTexts(info, "category") : [],
    event: said("event"),
    eventCodes: info ? namedValues(info, "eventCode").map(({ value }) => value) : [],
    urgency: said("urgency"),
    severity: said("severity"),
    certainty: said("certainty"),
    expiresAt: Number.isNaN(expires) ? null : expires,
    texts: {
      senderName: said("senderName"),
      headline: said("headline"),
      description: said("description"),
      instruction: said("instruction"),
      web: said("web"),
      contact: said("contact"),
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
