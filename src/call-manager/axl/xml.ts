import { XMLParser, XMLValidator } from "fast-xml-parser";
import { ClusterError } from "../cluster-error.ts";

/** An element: texts are strings, children are elements, those that stand more than once are lists; attributes begin with `@`. */
export type SoapElement = { readonly [name: string]: unknown };

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
export function soapBody(text: string, host: string): SoapElement {
  if (/<!DOCTYPE/i.test(text) || XMLValidator.validate(text) !== true)
    throw new ClusterError("answer", `${host} answers something that is no SOAP message: ${excerpt(text)}`);
  const root = PARSER.parse(text) as SoapElement;
  const envelope = asSoapElement(root.Envelope);
  if (!("Body" in envelope))
    throw new ClusterError("answer", `${host} answers something that is no SOAP message: ${excerpt(text)}`);
  return asSoapElement(envelope.Body);
}

/** The beginning of an answer, for people. */
function excerpt(text: string): string {
  const beginning = text
    .slice(0, 60)
    .replace(/[^\x20-\x7e]+/g, " ")
    .trim();
  return beginning === "" ? "nothing." : `"${beginning}".`;
}

/** A child as an element; {} when it is none. */
export function asSoapElement(value: unknown): SoapElement {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as SoapElement) : {};
}

/** Children of one name: none, the one, or all. */
export function soapChildren(value: unknown): readonly SoapElement[] {
  if (value === undefined || value === "") return [];
  return (Array.isArray(value) ? value : [value]).map(asSoapElement);
}

/** The text of a child, "" when it has none. */
export function textOfElement(value: unknown): string {
  if (typeof value === "string") return decodeXml(value);
  const text = asSoapElement(value)["#text"];
  return typeof text === "string" ? decodeXml(text) : "";
}

const NAMED: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

function decodeXml(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w+));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return NAMED[name] ?? whole;
    const point = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
  });
}

/** Text as it may stand in an element; control characters can't. */
export function escapeXmlText(text: string): string {
  return text
    .replace(/[^\P{Cc}\t\n\r]/gu, "")
    .replace(/[&<>]/g, (each) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[each] as string);
}
