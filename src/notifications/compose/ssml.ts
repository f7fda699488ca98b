import { XMLParser, XMLValidator } from "fast-xml-parser";
import { invalidValue } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";

/** SSML for one voice, in the given language; null for that of the message's voice. */
export interface SsmlSegment {
  language: string | null;
  /** A complete SSML document, its text mapped by `say`. */
  render(say: (text: string) => string): string;
}

/** The field that holds SSML. */
const FIELD = "ttsCustomContent";
/** Limits against abuse; no announcement needs more. */
const MAX_ELEMENTS = 1_000;
const MAX_DEPTH = 20;
const MAX_BREAK_MS = 10_000;
const MAX_TOTAL_BREAK_MS = 60_000;

const WORD = /^[\w:.-]{1,40}$/;
const AMOUNT = /^(?:[a-z-]{3,8}|[+-]?\d{1,4}(?:\.\d{1,3})?(?:%|Hz|st|dB)?)$/i;
const LANGUAGE = /^[a-z]{2,3}(?:-[a-z0-9]{2,8})*$/i;
const ANYTHING = /(?:)/;

/**
 * The accepted SSML elements and attribute patterns: nothing that names a file, an address or a voice of another
 * system. @source W3C Speech Synthesis Markup Language 1.1
 */
const ELEMENTS: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  speak: { version: WORD, "xml:lang": LANGUAGE },
  p: { "xml:lang": LANGUAGE },
  s: { "xml:lang": LANGUAGE },
  lang: { "xml:lang": LANGUAGE },
  voice: { "xml:lang": LANGUAGE },
  break: { time: /^\d{1,5}(?:\.\d{1,3})?m?s$/, strength: /^(?:none|x-weak|weak|medium|strong|x-strong)$/ },
  emphasis: { level: /^(?:strong|moderate|none|reduced)$/ },
  prosody: { rate: AMOUNT, pitch: AMOUNT, range: AMOUNT, volume: AMOUNT },
  "say-as": { "interpret-as": WORD, format: WORD, detail: WORD },
  sub: { alias: ANYTHING },
  phoneme: { alphabet: WORD, ph: ANYTHING },
  mark: { name: ANYTHING },
};
/** Elements that select the voice: not passed on, since each language has its own voice. */
const VOICE_ELEMENTS: ReadonlySet<string> = new Set(["speak", "voice", "lang"]);

/** `decodeEntities` decodes entities; declarations of a document are ignored. */
const PARSER = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: "",
  parseTagValue: false,
  parseAttributeValue: false,
  processEntities: false,
  trimValues: false,
  ignoreDeclaration: true,
  cdataPropName: "#cdata",
});

interface Element {
  name: string;
  attributes: Readonly<Record<string, string>>;
  children: readonly Node[];
}
type Node = string | Element;

/** As fast-xml-parser returns it: an object with one name beside `:@`, or with a text. */
type Parsed = Readonly<Record<string, unknown>>;

/**
 * The parts of SSML per voice, in order; empty without text. Throws CallerError (`ttsCustomContent`) for malformed
 * SSML, and for elements and attributes that are not supported.
 */
export function splitSsml(source: string, isSpoken: (language: string) => boolean): SsmlSegment[] {
  const found: { language: string | null; inside: Element[]; nodes: Node[] }[] = [];
  const add = (node: Node, language: string | null, inside: Element[]): void => {
    const last = found.at(-1);
    const fits = last?.language === language && last.inside.length === inside.length;
    if (last && fits && last.inside.every((each, at) => each === inside[at])) last.nodes.push(node);
    else found.push({ language, inside, nodes: [node] });
  };
  const walk = (node: Node, language: string | null, inside: Element[]): void => {
    if (typeof node === "string" || (node.children.length === 0 && !VOICE_ELEMENTS.has(node.name))) {
      add(node, language, inside);
      return;
    }
    const requested = node.attributes["xml:lang"];
    const own = requested !== undefined && isSpoken(requested) ? requested : language;
    const within = VOICE_ELEMENTS.has(node.name) ? inside : [...inside, node];
    for (const child of node.children) walk(child, own, within);
  };
  walk(readSsml(source), null, []);
  return mergeSegments(found);
}

/** Only text makes a segment, not breaks alone; breaks between segments stay with the previous one. */
function mergeSegments(found: readonly { language: string | null; inside: Element[]; nodes: Node[] }[]): SsmlSegment[] {
  const runs: { language: string | null; parts: { inside: Element[]; nodes: Node[] }[] }[] = [];
  for (const { language, inside, nodes } of found) {
    const last = runs.at(-1);
    const isEmpty = nodes.every((node) => typeof node === "string" && node.trim() === "");
    if (last && (last.language === language || isEmpty)) last.parts.push({ inside, nodes });
    else runs.push({ language, parts: [{ inside, nodes }] });
  }
  return runs
    .filter(({ parts }) => parts.some(({ nodes }) => nodes.some(hasWords)))
    .map(({ language, parts }) => ({
      language,
      render: (say) => `<speak>${parts.map((part) => renderPart(part, say)).join("")}</speak>`,
    }));
}

function hasWords(node: Node): boolean {
  return typeof node === "string" ? node.trim() !== "" : false;
}

function renderPart({ inside, nodes }: { inside: Element[]; nodes: Node[] }, say: (text: string) => string): string {
  const body = nodes.map((node) => (typeof node === "string" ? escapeMarkup(say(node)) : tagOf(node, "/>"))).join("");
  return inside.reduceRight((within, element) => `${tagOf(element, ">")}${within}</${element.name}>`, body);
}

function tagOf({ name, attributes }: Element, end: ">" | "/>"): string {
  const kept = Object.entries(attributes).filter(([attribute]) => attribute !== "xml:lang");
  return `<${name}${kept.map(([attribute, value]) => ` ${attribute}="${escapeMarkup(value)}"`).join("")}${end}`;
}

/** Escapes text for markup. */
export function escapeMarkup(text: string): string {
  return text.replace(/[<>&"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

function readSsml(source: string): Element {
  if (/<!DOCTYPE|<!ENTITY/i.test(source)) throw invalidSsml(sentence("field.a-document-type-is-not-allowed"));
  const valid = XMLValidator.validate(source);
  if (valid !== true)
    throw invalidSsml(
      sentence("field.must-be-well-formed-xml-problem-line-line", { problem: valid.err.msg, line: valid.err.line }),
    );
  const counted = { elements: 0, breakMs: 0 };
  const roots = nodesOf(PARSER.parse(source) as Parsed[], 0, counted);
  const [root, ...more] = roots.filter((node) => typeof node !== "string" || node.trim() !== "");
  if (!root || more.length > 0 || typeof root === "string" || root.name !== "speak") {
    throw invalidSsml(sentence("field.must-be-a-single-speak-element"));
  }
  if (counted.breakMs > MAX_TOTAL_BREAK_MS)
    throw invalidSsml(
      sentence("field.the-breaks-must-not-take-more-than-limit-s-in-total", { limit: MAX_TOTAL_BREAK_MS / 1_000 }),
    );
  return root;
}

interface Counted {
  elements: number;
  breakMs: number;
}

function nodesOf(parsed: readonly Parsed[], depth: number, counted: Counted): Node[] {
  if (depth > MAX_DEPTH)
    throw invalidSsml(sentence("field.elements-may-be-nested-at-most-limit-levels-deep", { limit: MAX_DEPTH }));
  return parsed.flatMap((entry): Node[] => {
    const [name = "", content] = Object.entries(entry).find(([key]) => key !== ":@") ?? [];
    if (name === "#text") return [decodeEntities(String(content))];
    if (name === "#cdata") return [(content as Parsed[]).map((each) => String(each["#text"])).join("")];
    if (name.startsWith("?")) return [];
    if (++counted.elements > MAX_ELEMENTS)
      throw invalidSsml(sentence("field.must-not-have-more-than-limit-elements", { limit: MAX_ELEMENTS }));
    const attributes = attributesOf(name, (entry[":@"] ?? {}) as Readonly<Record<string, string>>, counted);
    return name === "mark" ? [] : [{ name, attributes, children: nodesOf(content as Parsed[], depth + 1, counted) }];
  });
}

function attributesOf(
  element: string,
  given: Readonly<Record<string, string>>,
  counted: Counted,
): Readonly<Record<string, string>> {
  const known = Object.hasOwn(ELEMENTS, element) ? ELEMENTS[element] : undefined;
  if (element === "audio")
    throw invalidSsml(sentence("field.audio-is-not-supported-attach-the-recording-as-the-message-s-audio"));
  if (!known)
    throw invalidSsml(
      sentence("field.element-is-not-supported-use-elements", { element, elements: Object.keys(ELEMENTS).join(", ") }),
    );
  const kept: Record<string, string> = {};
  for (const [name, raw] of Object.entries(given)) {
    // Namespaces of the markup do not affect the speech.
    if (/^xmlns(?::|$)|^xsi:/.test(name)) continue;
    const value = decodeEntities(raw);
    const pattern = Object.hasOwn(known, name) ? known[name] : undefined;
    if (!pattern) throw invalidSsml(sentence("field.element-does-not-support-name", { element, name }));
    if (!pattern.test(value)) throw invalidSsml(sentence("field.name-of-element-is-not-valid", { name, element }));
    kept[name] = value;
  }
  if (element === "break") counted.breakMs += breakMs(kept.time);
  return kept;
}

function breakMs(time = "0s"): number {
  const ms = Number.parseFloat(time) * (time.endsWith("ms") ? 1 : 1_000);
  if (ms > MAX_BREAK_MS)
    throw invalidSsml(sentence("field.a-break-must-not-take-more-than-limit-s", { limit: MAX_BREAK_MS / 1_000 }));
  return ms;
}

const NAMED: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

function decodeEntities(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w+));|&/gi, (_whole, hex, decimal, name) => {
    const code = hex ? Number.parseInt(hex, 16) : Number(decimal);
    const known = name === undefined ? undefined : NAMED[name];
    if (known !== undefined) return known;
    if (!(code >= 9 && code <= 0x10ffff)) throw invalidSsml(sentence("field.unknown-entity"));
    return String.fromCodePoint(code);
  });
}

function invalidSsml(message: string): Error {
  return invalidValue(FIELD, message);
}
