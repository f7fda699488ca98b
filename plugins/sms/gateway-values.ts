import { XMLParser } from "fast-xml-parser";

/** A body as its sender wrote it: JSON, XML, a form, a web page, or plain text. */
export interface ParsedBody {
  kind: "json" | "xml" | "page" | "text" | "empty";
  /** Objects and lists for JSON and XML; the text itself for the others. */
  value: unknown;
  text: string;
}

/** Longer bodies are not responses of a gateway; they are read as text. */
const MAX_PARSED_LENGTH = 262_144;
const MAX_VALUES = 1_000;

/** Parses the body of a gateway; its form counts, not its content type, which gateways often set wrong. */
export function parseGatewayBody(body: string): ParsedBody {
  const text = body.replace(/^\uFEFF/, "").trim();
  if (text === "") return { kind: "empty", value: "", text };
  if (text.length > MAX_PARSED_LENGTH) return { kind: isPage(text) ? "page" : "text", value: text, text };
  if (/^[[{]/.test(text)) {
    try {
      return { kind: "json", value: JSON.parse(text), text };
    } catch {
      return { kind: "text", value: text, text };
    }
  }
  if (isPage(text)) return { kind: "page", value: text, text };
  return text.startsWith("<") ? parseXml(text) : { kind: "text", value: text, text };
}

function isPage(text: string): boolean {
  return /^(?:<\?xml[^>]{0,200}>\s*)?(?:<!--[^>]{0,500}-->\s*)?<(?:!doctype\s+html|html|head|body)\b/i.test(
    text.slice(0, 1_000),
  );
}

/** Elements as members, attributes as members with a leading `@`. */
function parseXml(text: string): ParsedBody {
  const options = { ignoreAttributes: false, attributeNamePrefix: "@", parseTagValue: false, processEntities: true };
  try {
    return { kind: "xml", value: new XMLParser(options).parse(text) as unknown, text };
  } catch {
    return { kind: "text", value: text, text };
  }
}

/**
 * Strings, numbers and booleans at a path (`messages.0.id`); `*` stands for every element of a list, or for the value
 * itself where a peer omits the list. Empty if there are none.
 */
export function valuesAt(root: unknown, path: string): string[] {
  if (isRecord(root) && Object.hasOwn(root, path)) return primitives([root[path]]);
  let level: unknown[] = [root];
  for (const name of path.split(".")) {
    level = level.flatMap((each) => membersOf(each, name)).slice(0, MAX_VALUES);
  }
  return primitives(level);
}

/** The values of the first of several paths, separated by commas, that has any. */
export function valuesAtFirst(root: unknown, paths: string): string[] {
  for (const path of paths.split(",")) {
    const values = valuesAt(root, path.trim()).filter((each) => each !== "");
    if (values.length > 0) return values;
  }
  return [];
}

function membersOf(value: unknown, name: string): unknown[] {
  if (name === "*") return Array.isArray(value) ? value : [value];
  if (Array.isArray(value)) return /^\d{1,4}$/.test(name) && Number(name) < value.length ? [value[Number(name)]] : [];
  // XML has no lists of one element.
  if (name === "0") return [value];
  return isRecord(value) && Object.hasOwn(value, name) ? [value[name]] : [];
}

function primitives(values: readonly unknown[]): string[] {
  return values.flatMap((each) => {
    if (isRecord(each) && "#text" in each) return primitives([each["#text"]]);
    return ["string", "number", "boolean"].includes(typeof each) ? [String(each)] : [];
  });
}

/** True for an object that is not a list. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
