/** An element; `text` is its own decoded character data, without that of its children. */
export interface XmlElement {
  name: string;
  attributes: Record<string, string>;
  children: XmlElement[];
  text: string;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const TOKEN =
  /<!--[\s\S]*?-->|<!\[CDATA\[([\s\S]*?)\]\]>|<\?[\s\S]*?\?>|<\/([^\s<>/]+)\s*>|<([^\s<>/!?]+)((?:\s+[^\s=<>/]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>|([^<]+)/gy;
const ATTRIBUTE = /([^\s=<>/]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;

/**
 * Parses a small document as strictly as a phone: null if it is not well-formed, uses an unknown entity, repeats an attribute
 * or has a document type. Comments and processing instructions are dropped.
 */
export function parseXml(source: string): XmlElement | null {
  const top: XmlElement = { name: "", attributes: {}, children: [], text: "" };
  const open = [top];
  let end = 0;
  for (const token of source.replace(/^\ufeff/, "").matchAll(TOKEN)) {
    if (!applyToken(token, open)) return null;
    end = token.index + token[0].length;
  }
  const root = top.children[0];
  if (end !== source.replace(/^\ufeff/, "").length || open.length !== 1) return null;
  return root && top.children.length === 1 && top.text.trim() === "" ? root : null;
}

/** Applies one token to the stack of open elements; false if it is not allowed there. */
function applyToken(token: RegExpMatchArray, open: XmlElement[]): boolean {
  const [, data, closing, opening, attributeText, empty, text] = token;
  const current = open.at(-1);
  if (!current) return false;
  if (closing !== undefined) return current.name === closing && open.length > 1 && open.pop() !== undefined;
  if (opening !== undefined) {
    const attributes = readAttributes(attributeText ?? "");
    if (!attributes) return false;
    const element: XmlElement = { name: opening, attributes, children: [], text: "" };
    current.children.push(element);
    if (empty === "") open.push(element);
    return true;
  }
  const decoded = data ?? (text === undefined ? "" : decodeXml(text));
  if (decoded === null) return false;
  current.text += decoded;
  return true;
}

function readAttributes(source: string): Record<string, string> | null {
  const attributes: Record<string, string> = Object.create(null);
  for (const [, name, double, single] of source.matchAll(ATTRIBUTE)) {
    const value = decodeXml(double ?? single ?? "");
    if (name === undefined || value === null || name in attributes) return null;
    attributes[name] = value;
  }
  return attributes;
}

/** Decodes character references and the five named entities; null for an invalid `&`. */
function decodeXml(source: string): string | null {
  let wrong = false;
  const decoded = source.replace(/&(?:#x([0-9a-fA-F]+);|#(\d+);|(\w+);)?/g, (_, hex, decimal, name) => {
    const code = hex ? Number.parseInt(hex, 16) : decimal ? Number(decimal) : null;
    if (code !== null && code > 0 && code <= 0x10ffff) return String.fromCodePoint(code);
    const named = name === undefined ? undefined : ENTITIES[name];
    if (named === undefined) wrong = true;
    return named ?? "";
  });
  return wrong ? null : decoded;
}

/** Escapes text for element content and quoted attributes. */
export function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
