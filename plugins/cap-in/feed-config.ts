/** A configured feed. */
export interface FeedConfig {
  name: string;
  url: string;
  everySeconds: number;
  silentAfterMinutes: number;
  signed: boolean;
  onlyHere: boolean;
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
const LISTS = ["events", "categories", "urgencies", "severities", "certainties"] as const;

/** Parses `feeds`; an invalid entry is reported and skipped. */
export function parseFeedConfigs(given: unknown): ConfiguredFeeds {
  if (!Array.isArray(given)) return { feeds: [], errors: ["feeds must be a list"] };
  const feeds: FeedConfig[] = [];
  const errors: string[] = [];
  given.forEach((entry: unknown, index) => {
    const read = parseEntry(entry);
    if (typeof read === "string") errors.push(`feeds[${index}]: ${read}`);
    else if (feeds.some(({ name }) => name === read.name)) errors.push(`feeds[${index}]: duplicate name`);
    else feeds.push(read);
  });
  return { feeds, errors };
}

function parseEntry(entry: unknown): FeedConfig | string {
  const given = (entry ?? {}) as Record<string, unknown>;
  const { name, url, everySeconds = 60, silentAfterMinutes = 15, signed = true, onlyHere = false } = given;
  const { geocodes = {}, statuses = ["Actual"] } = given;
  if (typeof name !== "string" || name.trim() !== name || name === "" || name.length > MAX_NAME_LENGTH)
    return `name must be a string of at most ${MAX_NAME_LENGTH} characters without surrounding spaces`;
  if (typeof url !== "string" || !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    return "url must be an http or https URL";
  if (!isWithin(everySeconds, 15, 86_400)) return "everySeconds must be between 15 and 86400";
  if (!isWithin(silentAfterMinutes, 1, 10_080)) return "silentAfterMinutes must be between 1 and 10080";
  if (typeof signed !== "boolean" || typeof onlyHere !== "boolean") return "signed and onlyHere must be true or false";
  if (!isTexts(Object.values(geocodes ?? {}))) return "geocodes must be an object of strings";
  const wrong = LISTS.find((list) => given[list] !== undefined && !isTexts(given[list]));
  if (wrong || !isTexts(statuses)) return `${wrong ?? "statuses"} must be a list of strings`;
  const lists = Object.fromEntries(LISTS.map((list) => [list, given[list] ?? null])) as Pick<
    FeedConfig,
    (typeof LISTS)[number]
  >;
  const shown = { name, url, everySeconds, silentAfterMinutes, signed, onlyHere };
  return { ...shown, geocodes: geocodes as Record<string, string>, statuses, ...lists };
}

function isWithin(value: unknown, min: number, max: number): value is number {
  return typeof value === "number" && value >= min && value <= max;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}
