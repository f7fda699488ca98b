/** What XML 1.0 can't carry, not even escaped; unpaired surrogates too. */
const FORBIDDEN = /(?![\t\n\r])\p{Cc}|\p{Cs}|[\ufffe\uffff]/gu;
const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};
const NAMED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** First line of every document: phones want the encoding named. */
export const XML_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n';

/** Text made safe for an element's content and for a quoted attribute; what XML can't carry is left out. */
export function escapeXml(text: string): string {
  return text.replace(FORBIDDEN, "").replace(/[&<>"']/g, (character) => ESCAPES[character] ?? "");
}

/** The text that an escaped one stands for; an unknown reference stays as it is. */
export function unescapeXml(text: string): string {
  return text.replace(
    /&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w{2,4}));/gi,
    (whole, hex?: string, decimal?: string, name?: string) => {
      if (name !== undefined) return NAMED[name] ?? whole;
      const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    },
  );
}

/** Content of the first element of this name, unescaped; null when there is none. For the small flat documents of phones. */
export function elementText(source: string, name: string): string | null {
  const content = new RegExp(`<${name}(?:\\s[^>]*)?>([^<]*)</${name}\\s*>`, "i").exec(source)?.[1];
  return content === undefined ? null : unescapeXml(content).trim();
}
