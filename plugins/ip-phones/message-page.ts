import { joinSubjectAndBody } from "#plugin-api";
import { escapeXml, XML_DECLARATION } from "./xml.ts";

/** What a message shows on a display. */
export interface MessagePage {
  subject: string;
  body: string;
  short: string;
  drill: boolean;
  /** Subject and body are one text, below no title. */
  isOne: boolean;
}

/** A key below the display; `url` is a page or an internal URI. */
interface SoftKey {
  name: string;
  url: string;
}

/** @source protocols.md 3 and README.md, Pages: what phones take */
const MAX_LINE = 32;
const MAX_TEXT = 4_000;
const EXIT: SoftKey = { name: "Exit", url: "SoftKey:Exit" };
const DRILL = "DRILL";

/** The text page. */
export function textPage(content: MessagePage): string {
  return page("CiscoIPPhoneText", titleOf(content), element("Text", shorten(textOf(content), MAX_TEXT)), [EXIT]);
}

/** The image page, centred, with the short text below and a key that shows the whole text. */
export function imagePage(content: MessagePage, pngUrl: string, textUrl: string): string {
  const place = "<LocationX>-1</LocationX><LocationY>-1</LocationY>";
  const inner = `${element("Prompt", shorten(content.short, MAX_LINE))}${place}${element("URL", pngUrl)}`;
  return page("CiscoIPPhoneImageFile", titleOf(content), inner, [EXIT, { name: "Text", url: textUrl }]);
}

function titleOf({ subject, drill, isOne }: MessagePage): string {
  if (isOne) return drill ? DRILL : "";
  return shorten(drill ? `${DRILL}: ${subject}` : subject, MAX_LINE);
}

/** The body, below what the title had no room for; a drill is named first and last, for long texts are scrolled. */
function textOf(content: MessagePage): string {
  const { subject, body, drill, isOne } = content;
  const lines = titleOf(content).endsWith("…") ? [subject, ""] : [];
  const text = isOne ? joinSubjectAndBody(content) : [...lines, body].join("\n").trim();
  return drill ? `THIS IS A ${DRILL}.\n${shorten(text, MAX_TEXT - 40)}\nTHIS IS A ${DRILL}.` : text;
}

function page(object: string, title: string, inner: string, keys: readonly SoftKey[]): string {
  const softKeys = keys.map(
    ({ name, url }, index) =>
      `<SoftKeyItem>${element("Name", name)}${element("URL", url)}<Position>${index + 1}</Position></SoftKeyItem>`,
  );
  return `${XML_DECLARATION}<${object}>${title === "" ? "" : element("Title", title)}${inner}${softKeys.join("")}</${object}>\n`;
}

function element(name: string, text: string): string {
  return `<${name}>${escapeXml(text)}</${name}>`;
}

/** At most `most` characters, never cut through one. */
function shorten(text: string, most: number): string {
  const characters = [...text];
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join("")}…`;
}
