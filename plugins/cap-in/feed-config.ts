import type { Region } from "./geometry.ts";
import { FEED_PRESETS, type FeedPreset } from "./presets.ts";
import { sentence } from "./sentences.ts";

/** A configured feed. */
export interface FeedConfig {
  name: string;
  /** In order; the next one is asked while one fails. `{since}` stands for the time of the last poll. */
  urls: string[];
  /** Where a stream's missed alerts are read, in order. */
  archives: string[];
  everySeconds: number;
  silentAfterMinutes: number;
  /** Whether alerts must be signed; `warn` takes them, but says so. */
  signed: boolean | "warn";
  onlyHere: boolean;
  /** Which alerts pass `onlyHere` although their area is not understood. */
  unplaced: "all" | "extreme" | "none";
  /** Prefix of the language; null for the plugin's. */
  language: string | null;
  region: Region | null;
  /** Geocodes `name=value` with the name of an area of interest; empty for this site. */
  geocodes: Readonly<Record<string, string>>;
  statuses: string[];
  /** Accepted values; null for any. */
  events: string[] | null;
  categories: string[] | null;
  urgencies: string[] | null;
  severities: string[] | null;
  certainties: string[] | null;
}

/** Valid feeds of a configuration, and errors as text. */
export interface ConfiguredFeeds {
  feeds: FeedConfig[];
  errors: string[];
}

const MAX_NAME_LENGTH = 140;
const MAX_URLS = 8;
const LISTS = ["events", "categories", "urgencies", "severities", "certainties"] as const;
const UNPLACED = ["all", "extreme", "none"] as const;

/** Parses `feeds`; an invalid entry is reported and skipped. */
export function parseFeedConfigs(given: unknown): ConfiguredFeeds {
  if (!Array.isArray(given)) return { feeds: [], errors: [sentence("feeds-list")] };
  const feeds: FeedConfig[] = [];
  const errors: string[] = [];
  given.forEach((entry: unknown, index) => {
    const read = parseEntry(entry);
    if (typeof read === "string") errors.push(`feeds[${index}]: ${read}`);
    else if (feeds.some(({ name }) => name === read.name))
      errors.push(`feeds[${index}]: ${sentence("entry.duplicate")}`);
    else feeds.push(read);
  });
  return { feeds, errors };
}

/** Whether a feed is a stream that stays connected. */
export function isStream({ urls }: Pick<FeedConfig, "urls">): boolean {
  return /^(tcp|tls):/.test(urls[0] ?? "");
}

function parseEntry(entry: unknown): FeedConfig | string {
  const given = (entry ?? {}) as Record<string, unknown>;
  const preset = FEED_PRESETS.find(({ id }) => id === given.preset);
  if (given.preset !== undefined && !preset)
    return sentence("entry.preset", { presets: FEED_PRESETS.map(({ id }) => id).join(", ") });
  const { name, everySeconds = preset?.everySeconds ?? 60, silentAfterMinutes = 15, onlyHere = false } = given;
  const { signed = preset?.signed ?? true, unplaced = "extreme", language = preset?.language ?? null } = given;
  const { geocodes = {}, statuses = ["Actual"] } = given;
  if (typeof name !== "string" || name.trim() !== name || name === "" || name.length > MAX_NAME_LENGTH)
    return sentence("entry.name", { length: MAX_NAME_LENGTH });
  const urls = urlsOf(given, preset);
  if (typeof urls === "string") return urls;
  const archives = given.archives ?? preset?.archives ?? [];
  if (!isTexts(archives) || archives.length > MAX_URLS || !archives.every(isHttpUrl)) return sentence("entry.archives");
  if (!isWithin(everySeconds, 15, 86_400)) return sentence("entry.interval");
  if (!isWithin(silentAfterMinutes, 1, 10_080)) return sentence("entry.silence");
  if (!isSigned(signed) || typeof onlyHere !== "boolean") return sentence("entry.switches");
  if (!UNPLACED.some((each) => each === unplaced)) return sentence("entry.unplaced", { values: UNPLACED.join(", ") });
  if (language !== null && typeof language !== "string") return sentence("entry.language");
  if (typeof geocodes !== "object" || !isTexts(Object.values(geocodes ?? {}))) return sentence("entry.geocodes");
  const wrong = LISTS.find((list) => given[list] !== undefined && !isTexts(given[list]));
  if (wrong || !isTexts(statuses)) return sentence("entry.list", { name: wrong ?? "statuses" });
  const lists = Object.fromEntries(LISTS.map((list) => [list, given[list] ?? null])) as Pick<
    FeedConfig,
    (typeof LISTS)[number]
  >;
  return {
    ...{ name, urls, archives: [...archives], everySeconds, silentAfterMinutes, signed, onlyHere, language, statuses },
    unplaced: unplaced as FeedConfig["unplaced"],
    region: preset?.region ?? null,
    geocodes: (geocodes ?? {}) as Record<string, string>,
    ...lists,
  };
}

/** URLs of an entry or of its preset; an error as text. */
function urlsOf({ url, values = {} }: Record<string, unknown>, preset: FeedPreset | undefined): string[] | string {
  const given = url === undefined ? (preset?.urls ?? []) : [url].flat();
  if (!isTexts(given) || given.length === 0 || given.length > MAX_URLS) return sentence("entry.url-list");
  const texts = (values ?? {}) as Record<string, unknown>;
  if (!isTexts(Object.values(texts))) return sentence("entry.values");
  const missing = new Set<string>();
  const filled = given.map((each) =>
    each.replace(/\{(\w+)\}/g, (whole, value: string) => {
      if (value === "since") return whole;
      const text = texts[value];
      if (typeof text !== "string" || text === "") missing.add(value);
      return encodeURIComponent(String(text));
    }),
  );
  const [first] = missing;
  if (first) return sentence("entry.value-missing", { name: first, example: preset?.values[first] ?? "" });
  if (filled.every(isHttpUrl) || filled.every(isStreamUrl)) return filled;
  return sentence("entry.url");
}

function isSigned(value: unknown): value is FeedConfig["signed"] {
  return typeof value === "boolean" || value === "warn";
}

function isHttpUrl(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}

function isStreamUrl(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname, port } = new URL(url);
  return /^(tcp|tls):$/.test(protocol) && hostname !== "" && port !== "";
}

function isWithin(value: unknown, min: number, max: number): value is number {
  return typeof value === "number" && value >= min && value <= max;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}
