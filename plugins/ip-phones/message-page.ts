import { joinSubjectAndBody } from "#plugin-api";
import { escapeXml, XML_DECLARATION } from "./xml.ts";

/** Content of a message page. */
export interface MessagePage {
  subject: string;
  body: string;
  short: string;
  drill: boolean;
  /** Subject and body form one text without a title. */
  isOne: boolean;
}

/** A soft key; `url` is a page or an internal URI. */
interface SoftKey {
  name: string;
  url: string;
}

/** Limits of text pages. @source docs/decisions/0032-phone-push.md, Pages and images */
const MAX_LINE = 32;
const MAX_TEXT = 4_000;
const EXIT: SoftKey = { name: "Exit", url: "SoftKey:Exit" };
const DRILL = "DRILL";

export function textPage(content: MessagePage): string {
  return page("CiscoIPPhoneText", titleOf(content), element("Text", shorten(textOf(content), MAX_TEXT)), [EXIT]);
}

/** The image page, centred, with the short text as prompt and a key for the full text. */
export function imagePage(content: MessagePage, pngUrl: string, textUrl: string): string {
  const place = "<LocationX>-1</LocationX><LocationY>-1</LocationY>";
  const inner = `${element("Prompt", shorten(content.short, MAX_LINE))}${place}${element("URL", pngUrl)}`;
  return page("CiscoIPPhoneImageFile", titleOf(content), inner, [EXIT, { name: "Text", url: textUrl }]);
}

function titleOf({ subject, drill, isOne }: MessagePage): string {
  if (isOne) return drill ? DRILL : "";
  return shorten(drill ? `${DRILL}: ${subject}` : subject, MAX_LINE);
}

/**
 * The body, preceded by the subject if the title truncated it. A drill is marked first and last, because long texts
 * scroll.
 */
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

/** At most `max` characters, never splitting one. */
function shorten(text: string, max: number): string {
  const characters = [...text];
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join("")}…`;
}
