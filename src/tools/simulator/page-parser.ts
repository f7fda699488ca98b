import type { SimulatorPhoneModel } from "./phone-models.ts";
import { parseXml, type XmlElement } from "./xml.ts";

/** What a pushed page says; `imageUrl` is set for an image page only, and not yet fetched. */
export interface ParsedPage {
  type: string;
  title: string;
  prompt: string;
  text: string;
  softKeys: { name: string; url: string }[];
  imageUrl: string | null;
}

const COMMON_ELEMENTS: Readonly<Record<string, readonly string[]>> = {
  Title: [],
  Prompt: [],
  SoftKeyItem: ["Name", "URL", "URLDown", "Position"],
  KeyItem: ["Key", "URL", "URLDown"],
};

/** The objects a phone shows, each with the elements it may have and theirs. Anything else is refused. */
const PAGE_OBJECTS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  CiscoIPPhoneText: { ...COMMON_ELEMENTS, Text: [] },
  CiscoIPPhoneMenu: { ...COMMON_ELEMENTS, MenuItem: ["Name", "URL"] },
  CiscoIPPhoneImageFile: { ...COMMON_ELEMENTS, LocationX: [], LocationY: [], URL: [] },
};

/**
 * Reads a page as strictly as a phone: content type and XML declaration must name UTF-8, no element may be unknown,
 * and an image page needs a display for images. The words of a refusal are for the phone's error list.
 */
export function parsePage(
  body: Buffer,
  contentType: string,
  model: SimulatorPhoneModel,
): ParsedPage | { refused: string } {
  const source = body.toString("utf8");
  if (!/^text\/xml\s*;\s*charset="?utf-8"?$/i.test(contentType)) return { refused: `content type ${contentType}` };
  if (!/^<\?xml[^>]*\sencoding=["']utf-8["']/i.test(source)) return { refused: "no XML declaration with UTF-8" };
  return parsePageXml(source, model);
}

/** The same for a page whose transport said enough already, such as one pushed directly. */
export function parsePageXml(source: string, model: SimulatorPhoneModel): ParsedPage | { refused: string } {
  const root = parseXml(source);
  if (!root) return { refused: "not well-formed" };
  const fault = findPageError(root, model);
  return fault ? { refused: fault } : pageContent(root);
}

function findPageError(root: XmlElement, model: SimulatorPhoneModel): string | null {
  const allowed = Object.hasOwn(PAGE_OBJECTS, root.name) ? PAGE_OBJECTS[root.name] : undefined;
  if (!allowed) return `unknown object ${root.name}`;
  if (root.name === "CiscoIPPhoneImageFile" && !model.showsImages) return `${model.modelName} shows no images`;
  for (const child of root.children) {
    const inner = Object.hasOwn(allowed, child.name) ? allowed[child.name] : undefined;
    if (!inner) return `unknown element ${child.name}`;
    const stranger = child.children.find((grandchild) => !inner.includes(grandchild.name));
    if (stranger) return `unknown element ${stranger.name} in ${child.name}`;
  }
  return null;
}

function pageContent(root: XmlElement): ParsedPage {
  const isImage = root.name === "CiscoIPPhoneImageFile";
  return {
    type: root.name,
    title: childText(root, "Title"),
    prompt: childText(root, "Prompt"),
    text: childText(root, "Text"),
    softKeys: root.children
      .filter((child) => child.name === "SoftKeyItem")
      .map((item) => ({ name: childText(item, "Name"), url: childText(item, "URL") })),
    imageUrl: isImage ? childText(root, "URL") : null,
  };
}

function childText(element: XmlElement, name: string): string {
  return element.children.find((child) => child.name === name)?.text ?? "";
}

/** Width and height of a PNG from its header chunk; null when the bytes are no PNG. @source PNG (ISO 15948) 11.2.2 */
export function pngSize(bytes: Buffer): { width: number; height: number } | null {
  if (bytes.length < 24 || bytes.toString("latin1", 0, 8) !== "\x89PNG\r\n\x1a\n") return null;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}
