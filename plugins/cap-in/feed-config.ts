/** A feed that is followed, as configured. */
export interface FeedConfig {
  name: string;
  url: string;
  everySeconds: number;
  silentAfterMinutes: number;
  signed: boolean;
  onlyHere: boolean;
  /** `name=value` of a geocode, and the name of the area that it means; empty for here. */
  geocodes: Readonly<Record<string, string>>;
  statuses: string[];
  /** What counts; null for anything. */
  events: string[] | null;
  categories: string[] | null;
  urgencies: string[] | null;
  severities: string[] | null;
  certainties: string[] | null;
}

/** What a configuration follows, and what of it can't be used, in words. */
export interface ConfiguredFeeds {
  feeds: FeedConfig[];
  errors: string[];
}

const MAX_NAME_LENGTH = 140;
const LISTS = ["events", "categories", "urgencies", "severities", "certainties"] as const;

/** Reads `feeds`; a bad entry is left out and named, the others stay. */
export function parseFeedConfigs(given: unknown): ConfiguredFeeds {
  if (!Array.isArray(given)) return { feeds: [], errors: ["feeds is not a list"] };
  const feeds: FeedConfig[] = [];
  const errors: string[] = [];
  given.forEach((entry: unknown, index) => {
    const read = parseEntry(entry);
    if (typeof read === "string") errors.push(`feeds[${index}]: ${read}`);
    else if (feeds.some(({ name }) => name === read.name)) errors.push(`feeds[${index}]: the name is used twice`);
    else feeds.push(read);
  });
  return { feeds, errors };
}

function parseEntry(entry: unknown): FeedConfig | string {
  const given = (entry ?? {}) as Record<string, unknown>;
  const { name, url, everySeconds = 60, silentAfterMinutes = 15, signed = true, onlyHere = false } = given;
  const { geocodes = {}, statuses = ["Actual"] } = given;
  if (typeof name !== "string" || name.trim() !== name || name === "" || name.length > MAX_NAME_LENGTH)
    return `the name must be a text of at most ${MAX_NAME_LENGTH} characters`;
  if (typeof url !== "string" || !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    return "url is no http or https address";
  if (!isWithin(everySeconds, 15, 86_400)) return "everySeconds is a number from 15 to 86400";
  if (!isWithin(silentAfterMinutes, 1, 10_080)) return "silentAfterMinutes is a number from 1 to 10080";
  if (typeof signed !== "boolean" || typeof onlyHere !== "boolean") return "signed and onlyHere are true or false";
  if (!isTexts(Object.values(geocodes ?? {}))) return "geocodes is an object of texts";
  const wrong = LISTS.find((list) => given[list] !== undefined && !isTexts(given[list]));
  if (wrong || !isTexts(statuses)) return `${wrong ?? "statuses"} is a list of texts`;
  const lists = Object.fromEntries(LISTS.map((list) => [list, given[list] ?? null])) as Pick<
    FeedConfig,
    (typeof LISTS)[number]
  >;
  const shown = { name, url, everySeconds, silentAfterMinutes, signed, onlyHere };
  return { ...shown, geocodes: geocodes as Record<string, string>, statuses, ...lists };
}

function isWithin(value: unknown, least: number, most: number): value is number {
  return typeof value === "number" && value >= least && value <= most;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}
