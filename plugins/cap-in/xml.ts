import { DOMParser, type Document, type Element } from "@xmldom/xmldom";

/** Reads a document. Throws RangeError for what is no XML, and for one with declarations of its own. */
export function parseXml(text: string): Element {
  if (/<!DOCTYPE/i.test(text)) throw new RangeError("it has a DOCTYPE");
  const root = parsed(text).documentElement;
  if (!root) throw new RangeError("it is no XML");
  return root;
}

function parsed(text: string): Document {
  const onError = (level: string, message: string): void => {
    if (level !== "warning") throw new RangeError(message);
  };
  try {
    return new DOMParser({ onError }).parseFromString(text, "text/xml");
  } catch (error) {
    throw new RangeError(`it is no XML: ${String((error as Error).message).split("\n", 1)[0]}`);
  }
}

/** The children of that name, whatever their prefix. */
export function childElements(element: Element, name: string): Element[] {
  const found: Element[] = [];
  for (let node = element.firstChild; node; node = node.nextSibling) {
    if (node.nodeType === 1 && (node as Element).localName === name) found.push(node as Element);
  }
  return found;
}

/** The text of the first child of that name; empty where there is none. */
export function childText(element: Element, name: string): string {
  return childElements(element, name)[0]?.textContent?.trim() ?? "";
}

/** The texts of all children of that name. */
export function childTexts(element: Element, name: string): string[] {
  return childElements(element, name).map((child) => child.textContent?.trim() ?? "");
}
