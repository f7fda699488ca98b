import type { SimulatorPhoneModel } from "./phone-models.ts";
import { parseXml, type XmlElement } from "./xml.ts";

/** Content of a page; `imageUrl` is set for image pages only, whose image is not downloaded yet. */
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

/** Objects that a phone displays, with their allowed elements. All others are rejected. */
const PAGE_OBJECTS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  CiscoIPPhoneText: { ...COMMON_ELEMENTS, Text: [] },
  CiscoIPPhoneMenu: { ...COMMON_ELEMENTS, MenuItem: ["Name", "URL"] },
  CiscoIPPhoneImageFile: { ...COMMON_ELEMENTS, LocationX: [], LocationY: [], URL: [] },
};

/**
 * Parses a page as strictly as a phone: content type and XML declaration must specify UTF-8, unknown elements are rejected,
 * and an image page requires a display for images. The reason of a rejection is for the phone's error list.
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

/** Like `parsePage`, for XML whose encoding is known, such as a page that was pushed directly. */
export function parsePageXml(source: string, model: SimulatorPhoneModel): ParsedPage | { refused: string } {
  const root = parseXml(source);
  if (!root) return { refused: "not well-formed" };
  const error = findPageError(root, model);
  return error ? { refused: error } : pageContent(root);
}

function findPageError(root: XmlElement, model: SimulatorPhoneModel): string | null {
  const allowed = Object.hasOwn(PAGE_OBJECTS, root.name) ? PAGE_OBJECTS[root.name] : undefined;
  if (!allowed) return `unknown object ${root.name}`;
  if (root.name === "CiscoIPPhoneImageFile" && !model.showsImages) return `${model.modelName} shows no images`;
  for (const child of root.children) {
    const inner = Object.hasOwn(allowed, child.name) ? allowed[child.name] : undefined;
    if (!inner) return `unknown element ${child.name}`;
    const unknown = child.children.find((grandchild) => !inner.includes(grandchild.name));
    if (unknown) return `unknown element ${unknown.name} in ${child.name}`;
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

/** Width and height of a PNG from its header chunk; null for other data. @source PNG (ISO 15948) 11.2.2 */
export function pngSize(bytes: Buffer): { width: number; height: number } | null {
  if (bytes.length < 24 || bytes.toString("latin1", 0, 8) !== "\x89PNG\r\n\x1a\n") return null;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}
