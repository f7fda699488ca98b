import { XMLParser, XMLValidator } from "fast-xml-parser";
import { invalidValue } from "../../lib/errors.ts";

/** Marked-up words that one voice speaks, in the language given; null for that of the message's voice. */
export interface SsmlSegment {
  language: string | null;
  /** A whole SSML document of the words that `say` makes of those written. */
  render(say: (text: string) => string): string;
}

/** The field that holds marked-up words. */
const FIELD = "ttsCustomContent";
/** own choice: more is no announcement but an attempt on the appliance. */
const MOST_ELEMENTS = 1_000;
const MOST_DEPTH = 20;
const LONGEST_BREAK_MS = 10_000;
const MOST_BREAK_MS = 60_000;

const WORD = /^[\w:.-]{1,40}$/;
const AMOUNT = /^(?:[a-z-]{3,8}|[+-]?\d{1,4}(?:\.\d{1,3})?(?:%|Hz|st|dB)?)$/i;
const LANGUAGE = /^[a-z]{2,3}(?:-[a-z0-9]{2,8})*$/i;
const ANYTHING = /(?:)/;

/**
 * What is taken of SSML, and how attributes may look: nothing that names a file, an address or a voice of another system.
 * @source W3C Speech Synthesis Markup Language 1.1; own choice: what of it
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
/** Elements that choose who speaks: each language is spoken by a voice of its own, so they are not handed on. */
const VOICE_ELEMENTS: ReadonlySet<string> = new Set(["speak", "voice", "lang"]);

/** Entities are decoded by `decoded`, and no declaration of a document is obeyed. */
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

/** As fast-xml-parser gives it: an object of one name beside `:@`, or of a text. */
type Parsed = Readonly<Record<string, unknown>>;

/**
 * The pieces that voices speak of marked-up words, one after another; none where there are no words. Throws CallerError
 * (`ttsCustomContent`) for what is no well-formed SSML, and for elements and attributes that are not taken.
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
    const asked = node.attributes["xml:lang"];
    const own = asked !== undefined && isSpoken(asked) ? asked : language;
    const within = VOICE_ELEMENTS.has(node.name) ? inside : [...inside, node];
    for (const child of node.children) walk(child, own, within);
  };
  walk(readSsml(source), null, []);
  return mergeSegments(found);
}

/** True words, not only breaks, are what makes a piece; breaks between pieces stay with the one before. */
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

/** A text as it stands in markup. */
export function escapeMarkup(text: string): string {
  return text.replace(/[<>&"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

function readSsml(source: string): Element {
  if (/<!DOCTYPE|<!ENTITY/i.test(source)) throw invalidSsml("It must not have a document type.");
  const valid = XMLValidator.validate(source);
  if (valid !== true) throw invalidSsml(`It is no well-formed XML: ${valid.err.msg} (line ${valid.err.line}).`);
  const counted = { elements: 0, breakMs: 0 };
  const roots = nodesOf(PARSER.parse(source) as Parsed[], 0, counted);
  const [root, ...more] = roots.filter((node) => typeof node !== "string" || node.trim() !== "");
  if (!root || more.length > 0 || typeof root === "string" || root.name !== "speak") {
    throw invalidSsml("One <speak> element holds it all.");
  }
  if (counted.breakMs > MOST_BREAK_MS) throw invalidSsml(`Its breaks take more than ${MOST_BREAK_MS / 1_000} s.`);
  return root;
}

interface Counted {
  elements: number;
  breakMs: number;
}

function nodesOf(parsed: readonly Parsed[], depth: number, counted: Counted): Node[] {
  if (depth > MOST_DEPTH) throw invalidSsml(`Elements stand in each other at most ${MOST_DEPTH} deep.`);
  return parsed.flatMap((entry): Node[] => {
    const [name = "", content] = Object.entries(entry).find(([key]) => key !== ":@") ?? [];
    if (name === "#text") return [decodeEntities(String(content))];
    if (name === "#cdata") return [(content as Parsed[]).map((each) => String(each["#text"])).join("")];
    if (name.startsWith("?")) return [];
    if (++counted.elements > MOST_ELEMENTS) throw invalidSsml(`It has more than ${MOST_ELEMENTS} elements.`);
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
  if (element === "audio") throw invalidSsml("<audio> is not taken: a recording goes with the message as its audio.");
  if (!known) throw invalidSsml(`<${element}> is not taken; ${Object.keys(ELEMENTS).join(", ")} are.`);
  const kept: Record<string, string> = {};
  for (const [name, raw] of Object.entries(given)) {
    // What names the language of the markup itself says nothing of the words.
    if (/^xmlns(?::|$)|^xsi:/.test(name)) continue;
    const value = decodeEntities(raw);
    const pattern = Object.hasOwn(known, name) ? known[name] : undefined;
    if (!pattern) throw invalidSsml(`<${element}> does not take ${name}.`);
    if (!pattern.test(value)) throw invalidSsml(`${name} of <${element}> is not valid.`);
    kept[name] = value;
  }
  if (element === "break") counted.breakMs += breakMs(kept.time);
  return kept;
}

function breakMs(time = "0s"): number {
  const ms = Number.parseFloat(time) * (time.endsWith("ms") ? 1 : 1_000);
  if (ms > LONGEST_BREAK_MS) throw invalidSsml(`A break takes at most ${LONGEST_BREAK_MS / 1_000} s.`);
  return ms;
}

const NAMED: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

function decodeEntities(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w+));|&/gi, (_whole, hex, decimal, name) => {
    const code = hex ? Number.parseInt(hex, 16) : Number(decimal);
    const known = name === undefined ? undefined : NAMED[name];
    if (known !== undefined) return known;
    if (!(code >= 9 && code <= 0x10ffff)) throw invalidSsml("It has an entity that is not known.");
    return String.fromCodePoint(code);
  });
}

function invalidSsml(words: string): Error {
  return invalidValue(FIELD, words);
}
