import { XMLParser, XMLValidator } from "fast-xml-parser";
import { sentence } from "../../lib/sentences/sentences.ts";
import { ClusterError } from "../cluster-error.ts";

/** A parsed element: text as strings, children as elements, repeated children as lists; attribute names begin with `@`. */
export type SoapElement = { readonly [name: string]: unknown };

/** Entities are decoded separately: document type declarations are never processed, and numbers stay strings. */
const PARSER = new XMLParser({
  removeNSPrefix: true,
  ignoreAttributes: false,
  attributeNamePrefix: "@",
  parseTagValue: false,
  parseAttributeValue: false,
  processEntities: false,
  trimValues: true,
});

/** Content of a SOAP body. Throws ClusterError `answer` if the text is not a complete SOAP message. */
export function soapBody(text: string, host: string): SoapElement {
  if (/<!DOCTYPE/i.test(text) || XMLValidator.validate(text) !== true)
    throw new ClusterError("answer", sentence("cluster.soap-invalid", { host, excerpt: excerpt(text) }));
  const root = PARSER.parse(text) as SoapElement;
  const envelope = asSoapElement(root.Envelope);
  if (!("Body" in envelope))
    throw new ClusterError("answer", sentence("cluster.soap-invalid", { host, excerpt: excerpt(text) }));
  return asSoapElement(envelope.Body);
}

/** Beginning of a response, for error messages. */
function excerpt(text: string): string {
  const beginning = text
    .slice(0, 60)
    .replace(/[^\x20-\x7e]+/g, " ")
    .trim();
  return beginning === "" ? "nothing." : `"${beginning}".`;
}

/** A child as an element; {} for anything else. */
export function asSoapElement(value: unknown): SoapElement {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as SoapElement) : {};
}

/** Children of one name as a list. */
export function soapChildren(value: unknown): readonly SoapElement[] {
  if (value === undefined || value === "") return [];
  return (Array.isArray(value) ? value : [value]).map(asSoapElement);
}

/** The text of a child; "" without text. */
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

/** Escapes text for an element; control characters are removed. */
export function escapeXmlText(text: string): string {
  return text
    .replace(/[^\P{Cc}\t\n\r]/gu, "")
    .replace(/[&<>]/g, (each) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[each] as string);
}
