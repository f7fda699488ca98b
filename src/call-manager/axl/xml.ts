import { XMLParser, XMLValidator } from "fast-xml-parser";
import { ClusterFault } from "../cluster-fault.ts";

/** An element: texts are strings, children are elements, those that stand more than once are lists; attributes begin with `@`. */
export type Element = { readonly [name: string]: unknown };

/** Entities are decoded by `decoded`: no declaration of a document is ever obeyed, and numbers stay the texts they are. */
const PARSER = new XMLParser({
  removeNSPrefix: true,
  ignoreAttributes: false,
  attributeNamePrefix: "@",
  parseTagValue: false,
  parseAttributeValue: false,
  processEntities: false,
  trimValues: true,
});

/** The contents of a SOAP body. Throws ClusterFault `answer` for what is no whole SOAP message. */
export function soapBody(text: string, host: string): Element {
  if (/<!DOCTYPE/i.test(text) || XMLValidator.validate(text) !== true)
    throw new ClusterFault("answer", `${host} answers something that is no SOAP message: ${glimpse(text)}`);
  const root = PARSER.parse(text) as Element;
  const envelope = asElement(root.Envelope);
  if (!("Body" in envelope))
    throw new ClusterFault("answer", `${host} answers something that is no SOAP message: ${glimpse(text)}`);
  return asElement(envelope.Body);
}

/** The beginning of an answer, for people. */
function glimpse(text: string): string {
  const beginning = text
    .slice(0, 60)
    .replace(/[^\x20-\x7e]+/g, " ")
    .trim();
  return beginning === "" ? "nothing." : `"${beginning}".`;
}

/** A child as an element; {} when it is none. */
export function asElement(value: unknown): Element {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Element) : {};
}

/** Children of one name: none, the one, or all. */
export function listOf(value: unknown): readonly Element[] {
  if (value === undefined || value === "") return [];
  return (Array.isArray(value) ? value : [value]).map(asElement);
}

/** The text of a child, "" when it has none. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return decoded(value);
  const text = asElement(value)["#text"];
  return typeof text === "string" ? decoded(text) : "";
}

const NAMED: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

function decoded(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w+));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return NAMED[name] ?? whole;
    const point = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
  });
}

/** Text as it may stand in an element; control characters can't. */
export function escaped(text: string): string {
  return text
    .replace(/[^\P{Cc}\t\n\r]/gu, "")
    .replace(/[&<>]/g, (each) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[each] as string);
}
