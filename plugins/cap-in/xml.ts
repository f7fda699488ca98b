import { DOMParser, type Document, type Element } from "@xmldom/xmldom";

/** Parses an XML document. Throws RangeError for invalid XML and for documents with a DOCTYPE. */
export function parseXml(text: string): Element {
  if (/<!DOCTYPE/i.test(text)) throw new RangeError("DOCTYPE is not allowed");
  const root = parsed(text).documentElement;
  if (!root) throw new RangeError("invalid XML");
  return root;
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
