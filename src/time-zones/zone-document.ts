import { join } from "node:path";
import { sentence } from "../lib/sentences/sentences.ts";
import { parseTzif, TzifError } from "./tzif.ts";

/** A whole time zone database as one JSON file: how an administrator and the cloud bring it to an appliance. */
export interface ZoneDocument {
  /** Release of the database, such as 2026a. */
  version: string;
  /** TZif files in base64, by zone name. */
  zones: Record<string, string>;
  /** Target by alias. */
  links: Record<string, string>;
  /** ISO 8601; absent until it is installed. */
  installedAt?: string;
}

const FILE_NAME = "zones.json";
/** A database in its largest form has about 1.5 MB. */
const MAX_DOCUMENT_BYTES = 8 * 1_048_576;
const MAX_NAMES = 2_000;
const VERSION = /^\d{4}[a-z]{1,2}$/;
/** Without these it is no database, or that of one region only. */
const REQUIRED_ZONES = ["America/New_York", "Asia/Tokyo", "Europe/Berlin", "Etc/UTC"] as const;

/** The file below the folder of installed data. */
export function zoneDocumentFile(folder: string): string {
  return join(folder, FILE_NAME);
}

/** Reads a document without decoding its zones. Throws TzifError for anything else. */
export function readZoneDocument(text: string): ZoneDocument {
  let value: unknown;
  try {
    value = text.length > MAX_DOCUMENT_BYTES ? null : JSON.parse(text);
  } catch {
    throw new TzifError(sentence("time-zones.no-document"));
  }
  const { version, zones, links, installedAt } = (value ?? {}) as Partial<ZoneDocument>;
  if (typeof version !== "string" || !VERSION.test(version) || !isTextRecord(zones) || !isTextRecord(links))
    throw new TzifError(sentence("time-zones.no-document"));
  return { version, zones, links, ...(typeof installedAt === "string" && { installedAt }) };
}

/** Decodes every zone. Throws TzifError if one is damaged, a link leads nowhere, or a large zone is missing. */
export function verifyZoneDocument({ zones, links }: ZoneDocument): void {
  for (const [name, content] of Object.entries(zones)) {
    try {
      parseTzif(Buffer.from(content, "base64"));
    } catch (error) {
      throw new TzifError(`${name}: ${error instanceof TzifError ? error.message : "unreadable"}`);
    }
  }
  const dangling = Object.entries(links).find(([, target]) => zones[target] === undefined);
  if (dangling) throw new TzifError(sentence("time-zones.missing-zone", { name: dangling[0] }));
  const missing = REQUIRED_ZONES.find((name) => zones[name] === undefined && links[name] === undefined);
  if (missing) throw new TzifError(`${missing} is missing`);
}

function isTextRecord(value: unknown): value is Record<string, string> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const all = Object.values(value);
  return all.length <= MAX_NAMES && all.every((each) => typeof each === "string");
}
