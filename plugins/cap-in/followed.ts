/** A feed that is followed, as configured. */
export interface Followed {
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
  feeds: Followed[];
  faults: string[];
}

const LONGEST_NAME = 140;
const LISTS = ["events", "categories", "urgencies", "severities", "certainties"] as const;

/** Reads `feeds`; a bad entry is left out and named, the others stay. */
export function readFollowed(given: unknown): ConfiguredFeeds {
  if (!Array.isArray(given)) return { feeds: [], faults: ["feeds is not a list"] };
  const feeds: Followed[] = [];
  const faults: string[] = [];
  given.forEach((entry: unknown, index) => {
    const read = readEntry(entry);
    if (typeof read === "string") faults.push(`feeds[${index}]: ${read}`);
    else if (feeds.some(({ name }) => name === read.name)) faults.push(`feeds[${index}]: the name is used twice`);
    else feeds.push(read);
  });
  return { feeds, faults };
}

function readEntry(entry: unknown): Followed | string {
  const given = (entry ?? {}) as Record<string, unknown>;
  const { name, url, everySeconds = 60, silentAfterMinutes = 15, signed = true, onlyHere = false } = given;
  const { geocodes = {}, statuses = ["Actual"] } = given;
  if (typeof name !== "string" || name.trim() !== name || name === "" || name.length > LONGEST_NAME)
    return `the name must be a text of at most ${LONGEST_NAME} characters`;
  if (typeof url !== "string" || !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    return "url is no http or https address";
  if (!isWithin(everySeconds, 15, 86_400)) return "everySeconds is a number from 15 to 86400";
  if (!isWithin(silentAfterMinutes, 1, 10_080)) return "silentAfterMinutes is a number from 1 to 10080";
  if (typeof signed !== "boolean" || typeof onlyHere !== "boolean") return "signed and onlyHere are true or false";
  if (!isTexts(Object.values(geocodes ?? {}))) return "geocodes is an object of texts";
  const wrong = LISTS.find((list) => given[list] !== undefined && !isTexts(given[list]));
  if (wrong || !isTexts(statuses)) return `${wrong ?? "statuses"} is a list of texts`;
  const lists = Object.fromEntries(LISTS.map((list) => [list, given[list] ?? null])) as Pick<
    Followed,
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
