import { DOMParser, type Document, type Element } from "@xmldom/xmldom";

/** Limits of a document, far above those of real alerts. */
const MAX_DEPTH = 64;
const MAX_ELEMENTS = 200_000;

/** Parses an XML document. Throws RangeError for invalid, too deep or too large XML, and for documents with a DOCTYPE. */
export function parseXml(text: string): Element {
  // Entities could only be declared in a DOCTYPE, so none can expand.
  if (/<!DOCTYPE/i.test(text)) throw new RangeError("DOCTYPE is not allowed");
  checkNesting(text);
  const root = parsed(text).documentElement;
  if (!root) throw new RangeError("invalid XML");
  return root;
}

/** Counts tags before the parser, whose time and stack grow with them. */
function checkNesting(text: string): void {
  let depth = 0;
  let elements = 0;
  for (let at = text.indexOf("<"); at >= 0; at = text.indexOf("<", at + 1)) {
    const next = text.charCodeAt(at + 1);
    if (next === BANG && text.startsWith("<![CDATA[", at)) at = endOf(text, "]]>", at);
    else if (next === BANG && text.startsWith("<!--", at)) at = endOf(text, "-->", at);
    else if (next === SLASH) depth--;
    else if (next !== QUESTION && next !== BANG) {
      const end = endOf(text, ">", at);
      if (text.charCodeAt(end - 1) !== SLASH) depth++;
      if (++elements > MAX_ELEMENTS) throw new RangeError(`more than ${MAX_ELEMENTS} elements`);
      if (depth > MAX_DEPTH) throw new RangeError(`elements are nested more than ${MAX_DEPTH} deep`);
      at = end;
    }
  }
}

const [BANG, SLASH, QUESTION] = ["!", "/", "?"].map((sign) => sign.charCodeAt(0));

function endOf(text: string, mark: string, from: number): number {
  const end = text.indexOf(mark, from);
  return end < 0 ? text.length : end;
}

function parsed(text: string): Document {
  const onError = (level: string, message: string): void => {
    if (level !== "warning") throw new RangeError(message);
  };
  try {
    return new DOMParser({ onError }).parseFromString(text, "text/xml");
  } catch (error) {
    throw new RangeError(`invalid XML: ${String((error as Error).message).split("\n", 1)[0]}`);
  }
}

/** Child elements with this local name, whatever their prefix. */
export function childElements(element: Element, name: string): Element[] {
  const found: Element[] = [];
  for (let node = element.firstChild; node; node = node.nextSibling) {
    if (node.nodeType === 1 && (node as Element).localName === name) found.push(node as Element);
  }
  return found;
}

/** Text of the first child element with this name; empty if missing. */
export function childText(element: Element, name: string): string {
  return childElements(element, name)[0]?.textContent?.trim() ?? "";
}

/** Texts of all child elements with this name. */
export function childTexts(element: Element, name: string): string[] {
  return childElements(element, name).map((child) => child.textContent?.trim() ?? "");
}
