import { XMLParser, XMLValidator } from "fast-xml-parser";
import { type SoapElement, textOfElement } from "../axl/xml.ts";

/** What a phone's configuration file says about pushes. Passwords in the file are never read. */
export interface PhoneConfigurationFile {
  isSigned: boolean;
  authenticationUrl: string | null;
  secureAuthenticationUrl: string | null;
  /** Null if the file does not say it, or in a way that is not known. */
  webAccess: "full" | "read-only" | "off" | null;
  /** The phone's web server refuses plain HTTP. */
  isHttpsOnly: boolean;
  /** Firmware, as the file names it. */
  load: string | null;
  securityMode: "non-secure" | "authenticated" | "encrypted" | null;
  /** Certificate authority proxy (CAPF). */
  capfAddress: string | null;
}

/** `encrypted`: only the phone can read it; `invalid`: not the configuration of a phone. */
export type UnreadableFile = "encrypted" | "invalid";

/** The text of a signed file follows its signature, which has some hundred bytes. */
const MAX_SIGNATURE_BYTES = 8_192;
const MAX_TEXT = 1_000;
const MAX_DEPTH = 40;
const WEB_ACCESS: Readonly<Record<string, PhoneConfigurationFile["webAccess"]>> = {
  "0": "full",
  "1": "off",
  "2": "read-only",
};
const SECURITY_MODES: Readonly<Record<string, PhoneConfigurationFile["securityMode"]>> = {
  "1": "non-secure",
  "2": "authenticated",
  "3": "encrypted",
};

/** Names differ in case between versions, so they are compared in lower case. Entities are decoded separately. */
const PARSER = new XMLParser({
  removeNSPrefix: true,
  ignoreAttributes: true,
  parseTagValue: false,
  processEntities: false,
  trimValues: true,
  transformTagName: (name) => name.toLowerCase(),
});

/** Reads a configuration file, plain or signed. */
export function readConfigurationFile(content: Buffer): PhoneConfigurationFile | UnreadableFile {
  const found = documentOf(content);
  if (!found) return content.length > 0 && !looksLikeText(content) ? "encrypted" : "invalid";
  const { text, isSigned } = found;
  if (/<!(DOCTYPE|ENTITY)/i.test(text) || isTooDeep(text) || XMLValidator.validate(text) !== true) return "invalid";
  const root = PARSER.parse(text) as SoapElement;
  const device = elementOf(root.device);
  if (!device) return "invalid";
  const ofVendor = (name: string): string => vendorValue(device, name);
  return {
    isSigned,
    authenticationUrl: urlOf(device.authenticationurl),
    secureAuthenticationUrl: urlOf(device.secureauthenticationurl),
    webAccess: WEB_ACCESS[ofVendor("webaccess")] ?? null,
    isHttpsOnly: ofVendor("webprotocol") === "1",
    load: singleText(device.loadinformation),
    securityMode: SECURITY_MODES[singleText(device.devicesecuritymode) ?? ""] ?? null,
    capfAddress: capfAddressOf(device),
  };
}

interface ConfigurationText {
  text: string;
  isSigned: boolean;
}

/** The document without a signature before it; null if there is none. */
function documentOf(content: Buffer): ConfigurationText | null {
  const wide = utf16Of(content);
  if (wide !== null) return { text: wide, isSigned: false };
  const head = content.subarray(0, MAX_SIGNATURE_BYTES).toString("latin1");
  const plain = /^[\s\xef\xbb\xbf]*(?=<)/.exec(head);
  const start = plain ? plain[0].length : head.search(/<\?xml\s|<device[\s>]/i);
  if (start < 0) return null;
  const declared = /^<\?xml[^>]*\sencoding\s*=\s*["']([\w-]+)["']/i.exec(head.slice(start))?.[1] ?? "utf-8";
  const encoding = /^(iso-8859-1|latin1|windows-1252|us-ascii)$/i.test(declared) ? "windows-1252" : "utf-8";
  const text = new TextDecoder(encoding).decode(content.subarray(start));
  // What follows the document is padding.
  const end = text.toLowerCase().lastIndexOf("</device>");
  return { text: end < 0 ? text : text.slice(0, end + "</device>".length), isSigned: !plain };
}

function utf16Of(content: Buffer): string | null {
  const mark = content.length > 1 ? content.readUInt16BE(0) : 0;
  if (mark !== 0xfffe && mark !== 0xfeff) return null;
  const decoder = new TextDecoder(mark === 0xfffe ? "utf-16le" : "utf-16be");
  return decoder.decode(content).replace(/^\ufeff/, "");
}

/** Encrypted content has bytes that no text has. */
function looksLikeText(content: Buffer): boolean {
  return !/(?![\t\n\r])\p{Cc}/u.test(content.subarray(0, MAX_SIGNATURE_BYTES).toString("latin1"));
}

/** The parser is recursive: deeper documents are no configuration. */
function isTooDeep(text: string): boolean {
  let depth = 0;
  for (const [tag] of text.matchAll(/<[/a-z_][^<>]*>/gi)) {
    if (tag.startsWith("</")) depth -= 1;
    else if (!tag.endsWith("/>") && ++depth > MAX_DEPTH) return true;
  }
  return false;
}

/** The first one, if there are several. */
function elementOf(value: unknown): SoapElement | null {
  const one: unknown = Array.isArray(value) ? value[0] : value;
  return typeof one === "object" && one !== null ? (one as SoapElement) : null;
}

function singleText(value: unknown): string | null {
  const one: unknown = Array.isArray(value) ? value[0] : value;
  const text = textOfElement(one).trim().slice(0, MAX_TEXT);
  return text === "" ? null : text;
}

/** A URL without the password that it may contain. */
function urlOf(value: unknown): string | null {
  const text = singleText(value);
  return text === null ? null : text.replace(/^([a-z]+:\/\/)[^/@]*@/i, "$1");
}

/** A setting of the model: of the phone itself, else of its profile or of all phones. */
function vendorValue(device: SoapElement, name: string): string {
  const places = [device, ...["commonprofile", "commonconfig", "enterpriseconfig"].map((each) => device[each])];
  for (const place of places) {
    const vendor = elementOf(elementOf(place)?.vendorconfig);
    const value = vendor && singleText(vendor[name]);
    if (value) return value.toLowerCase();
  }
  return "";
}

function capfAddressOf(device: SoapElement): string | null {
  const capf = elementOf(elementOf(device.capflist)?.capf);
  return capf && singleText(capf.processnodename);
}
