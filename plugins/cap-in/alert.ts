import type { Element } from "@xmldom/xmldom";
import { childrenOf, readXml, textIn, textsIn } from "./xml.ts";

/** Where an alert holds. */
export interface AlertArea {
  areaDesc: string;
  /** Rings of `lat,lon`, blank between. */
  polygons: string[];
  /** `lat,lon km`. */
  circles: string[];
  /** `name=value`. */
  geocodes: string[];
}

/** An alert as far as it matters here, in one language; empty texts for what it does not say. @source CAP 1.2 §3.2 */
export interface Alert {
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
  areas: AlertArea[];
}

/** Also versions 1.0 and 1.1, which say the same in the same words. */
const NAMESPACE = /^(urn:oasis:names:tc:emergency:cap:1\.[12]|http:\/\/www\.incident\.com\/cap\/1\.0)$/;
const NEEDED = ["identifier", "sender", "sent", "status", "msgType"] as const;

/** Reads an alert in the language that begins so, or else in its first. Throws RangeError for what is none. */
export function readAlert(text: string, language: string): Alert {
  const root = readXml(text);
  if (root.localName !== "alert" || !NAMESPACE.test(root.namespaceURI ?? ""))
    throw new RangeError("it is no CAP alert");
  const lacking = NEEDED.find((name) => textIn(root, name) === "");
  if (lacking) throw new RangeError(`it says no ${lacking}`);
  if (Number.isNaN(Date.parse(textIn(root, "sent")))) throw new RangeError("its sent is no time");
  const infos = childrenOf(root, "info");
  const isOurs = (info: Element): boolean =>
    (textIn(info, "language") || "en-US").toLowerCase().startsWith(language.toLowerCase());
  const info = infos.find(isOurs) ?? infos[0];
  const said = (name: string): string => (info ? textIn(info, name) : "");
  const expires = Date.parse(said("expires"));
  return {
    identifier: textIn(root, "identifier"),
    sender: textIn(root, "sender"),
    sent: textIn(root, "sent"),
    status: textIn(root, "status"),
    msgType: textIn(root, "msgType"),
    references: textIn(root, "references"),
    categories: info ? textsIn(info, "category") : [],
    event: said("event"),
    eventCodes: info ? named(info, "eventCode").map(({ value }) => value) : [],
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
    areas: info ? childrenOf(info, "area").map(areaOf) : [],
  };
}

function areaOf(area: Element): AlertArea {
  return {
    areaDesc: textIn(area, "areaDesc"),
    polygons: textsIn(area, "polygon"),
    circles: textsIn(area, "circle"),
    geocodes: named(area, "geocode").map(({ name, value }) => `${name}=${value}`),
  };
}

function named(element: Element, name: string): { name: string; value: string }[] {
  return childrenOf(element, name).map((each) => ({ name: textIn(each, "valueName"), value: textIn(each, "value") }));
}
