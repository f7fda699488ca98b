import type { Element } from "@xmldom/xmldom";
import { childElements, childTexts, parseXml } from "./xml.ts";

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

/** An alert. @source CAP 1.2 §3.2 */
export interface ReceivedAlert {
  identifier: string;
  sender: string;
  sent: string;
  status: string;
  msgType: string;
  references: string;
  /** Infos of the preferred language. Each has its own areas and severity; none in most cancellations. */
  infos: AlertInfo[];
  /** Infos of other languages, which may name areas that those of the preferred one do not. */
  foreignInfos: AlertInfo[];
}

/** Versions 1.0 and 1.1 use the same elements. */
const NAMESPACE = /^(urn:oasis:names:tc:emergency:cap:1\.[12]|http:\/\/www\.incident\.com\/cap\/1\.0)$/;
const REQUIRED_ELEMENTS = ["identifier", "sender", "sent", "status", "msgType"] as const;

/** An element of a document, in XML or in JSON. */
interface AlertNode {
  texts(name: string): string[];
  children(name: string): AlertNode[];
}

/**
 * Parses an alert, in XML or in JSON with the same names. Its language is the one with this prefix, or else that of its first
 * `info`. Throws RangeError for an invalid alert. @source CAP 1.2 §3.2
 */
export function parseAlert(document: string, language: string): ReceivedAlert {
  const root = isJson(document) ? jsonNode(parseJson(document)) : xmlRoot(document);
  const missing = REQUIRED_ELEMENTS.find((name) => textOf(root, name) === "");
  if (missing) throw new RangeError(`element ${missing} is missing`);
  if (Number.isNaN(Date.parse(textOf(root, "sent")))) throw new RangeError("element sent must be a time");
  const infos = root.children("info");
  const isOurs = preferredLanguage(infos, language.trim().toLowerCase());
  return {
    identifier: textOf(root, "identifier"),
    sender: textOf(root, "sender"),
    sent: textOf(root, "sent"),
    status: textOf(root, "status"),
    msgType: textOf(root, "msgType"),
    references: root.texts("references").join(" "),
    infos: infos.filter(isOurs).map(parseInfo),
    foreignInfos: infos.filter((info) => !isOurs(info)).map(parseInfo),
  };
}

/** Whether a document is JSON. */
export function isJson(document: string): boolean {
  return /^\s*[{[]/.test(document);
}

/** Parses JSON. Throws RangeError. */
export function parseJson(document: string): unknown {
  try {
    return JSON.parse(document);
  } catch (error) {
    throw new RangeError(`invalid JSON: ${(error as Error).message}`);
  }
}

function xmlRoot(xml: string): AlertNode {
  const root = parseXml(xml);
  if (root.localName !== "alert" || !NAMESPACE.test(root.namespaceURI ?? "")) throw new RangeError("not a CAP alert");
  return xmlNode(root);
}

function xmlNode(element: Element): AlertNode {
  return {
    texts: (name) => childTexts(element, name),
    children: (name) => childElements(element, name).map(xmlNode),
  };
}

/** An element that may stand several times is a list, or a single value. */
function jsonNode(value: unknown): AlertNode {
  const values = (name: string): unknown[] =>
    typeof value === "object" && value !== null ? [(value as Record<string, unknown>)[name] ?? []].flat() : [];
  return {
    texts: (name) =>
      values(name)
        .filter((each) => typeof each === "string" || typeof each === "number")
        .map((each) => String(each).trim()),
    children: (name) => values(name).map(jsonNode),
  };
}

function textOf(node: AlertNode, name: string): string {
  return node.texts(name)[0] ?? "";
}

/** Recognises the infos of a language, or else those of the language of the first one. */
function preferredLanguage(infos: readonly AlertNode[], language: string): (info: AlertNode) => boolean {
  const languageOf = (info: AlertNode): string => (textOf(info, "language") || "en-US").toLowerCase();
  const isWanted = (info: AlertNode): boolean => languageOf(info).startsWith(language);
  if (infos.some(isWanted)) return isWanted;
  return (info) => languageOf(info) === languageOf(infos[0] as AlertNode);
}

function parseInfo(info: AlertNode): AlertInfo {
  const text = (name: string): string => textOf(info, name);
  const expires = Date.parse(text("expires"));
  return {
    categories: info.texts("category"),
    event: text("event"),
    eventCodes: namedValues(info, "eventCode").map(({ value }) => value),
    responseTypes: info.texts("responseType"),
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
    areas: info.children("area").map(parseArea),
  };
}

function parseArea(area: AlertNode): ReceivedAlertArea {
  return {
    areaDesc: textOf(area, "areaDesc"),
    polygons: area.texts("polygon"),
    circles: area.texts("circle"),
    geocodes: namedValues(area, "geocode").map(({ name, value }) => `${name}=${value}`),
  };
}

function namedValues(node: AlertNode, name: string): { name: string; value: string }[] {
  return node.children(name).map((each) => ({ name: textOf(each, "valueName"), value: textOf(each, "value") }));
}
