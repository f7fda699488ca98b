import { convert } from "html-to-text";
import { type AddressObject, simpleParser } from "mailparser";
import { addressParser } from "postal-mime";

/** A mail with its texts decoded. */
export interface ParsedMail {
  /** Unfolded fields in their order, as the sender wrote them; names in lower case. */
  headers: readonly { key: string; value: string }[];
  /** Addresses of all `From` fields, lower case. */
  from: readonly string[];
  /** Display name of the sender. */
  fromName: string;
  subject: string;
  messageId: string | null;
  /** As the sender wrote it; empty if missing. */
  date: string;
  /** Plain text, or else the text of the HTML part. */
  text: string;
}

/** Longer HTML is cut: no message shows more than a few thousand characters. */
const MAX_HTML_LENGTH = 262_144;

/**
 * Parses a mail. Texts are decoded by mailparser, whose decoder does not depend on the character sets of the Node build.
 */
export async function parseMail(raw: Uint8Array): Promise<ParsedMail> {
  const mail = await simpleParser(Buffer.from(raw), {
    skipHtmlToText: true,
    skipTextToHtml: true,
    skipTextLinks: true,
    skipImageLinks: true,
  });
  const headers = mail.headerLines.map(({ key, line }) => ({
    key,
    value: line
      .slice(line.indexOf(":") + 1)
      .replace(/\r?\n[ \t]+/g, " ")
      .trim(),
  }));
  const fieldOf = (name: string): string => headers.find(({ key }) => key === name)?.value ?? "";
  const from = headers.filter(({ key }) => key === "from").flatMap(({ value }) => addressParser(value));
  return {
    headers,
    from: from.map(({ address }) => address?.toLowerCase() ?? ""),
    fromName: (mail.from as AddressObject | undefined)?.value[0]?.name ?? "",
    subject: mail.subject ?? "",
    messageId: fieldOf("message-id") || null,
    date: fieldOf("date"),
    text: mail.text?.trim() ? mail.text : typeof mail.html === "string" ? htmlToPlainText(mail.html) : "",
  };
}

/** Styles and attributes of parts that a reader does not see, such as preheaders. */
const HIDDEN = [
  "[hidden]",
  ...["display:none", "visibility:hidden", "mso-hide:all", "max-height:0", "font-size:0", "opacity:0;"].flatMap(
    (style) => [`*[style*="${style}" i]`, `*[style*="${style.replace(":", ": ")}" i]`],
  ),
];

/** Text of an HTML mail without links, images and hidden parts. */
export function htmlToPlainText(html: string): string {
  return (
    convert(html.slice(0, MAX_HTML_LENGTH).replace(/<\/t[dh]\b/gi, " $&"), {
      wordwrap: false,
      whitespaceCharacters: " \t\r\n\f",
      limits: { maxInputLength: MAX_HTML_LENGTH, maxDepth: 200, ellipsis: "…" },
      selectors: [
        { selector: "a", options: { ignoreHref: true } },
        { selector: "img", format: "skip" },
        { selector: "title", format: "skip" },
        { selector: "hr", format: "skip" },
        ...["p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table", "tr", "blockquote"].map((selector) => ({
          selector,
          ...(selector === "tr" && { format: "block" }),
          options: { leadingLineBreaks: 1, trailingLineBreaks: 1, uppercase: false, trimEmptyLines: true },
        })),
        { selector: "ul", options: { itemPrefix: "- ", leadingLineBreaks: 1, trailingLineBreaks: 1 } },
        ...HIDDEN.map((selector) => ({ selector, format: "skip" })),
      ],
    })
      .replace(/\u200b|\u00ad|\u034f|\ufeff/g, "")
      // Fillers of preheaders; within a word they belong to its spelling.
      .replace(/(?<=^|\s)\u200c+(?=\s|$)/g, "")
      .replace(/[^\S\n]+/g, " ")
      .replace(/ ?\n ?/g, "\n")
      .replace(/\n{2,}/g, "\n")
      .trim()
  );
}
