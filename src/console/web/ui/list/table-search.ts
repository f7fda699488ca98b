/** What an address may say of the list on its page. */
const MEMBERS = [
  ...(["q", "sort", "outcome", "type", "state", "drill", "open", "follow"] as const),
  ...(["op", "resource", "since", "until", "user", "verb", "thing", "domain"] as const),
  ...(["ongoingOnly", "resourceType", "status"] as const),
  ...(["view", "day", "schedules"] as const),
  ...(["endpoint", "severity"] as const),
] as const;

/** State of a list in the address: search, order, filters and the open row; absent members are left out. */
export type TableSearch = { [K in (typeof MEMBERS)[number]]?: string };

/** Members to change; undefined takes one out. */
export type SearchPart = { [K in keyof TableSearch]: string | undefined };

/** Keeps the known texts of an address's query. */
export function readTableSearch(search: Readonly<Record<string, unknown>>): TableSearch {
  const kept: TableSearch = {};
  for (const name of MEMBERS) {
    const value = search[name];
    if (value !== undefined && value !== "") kept[name] = String(value);
  }
  return kept;
}

/** A field that a list is filtered by, one value at a time; kept in the address. */
export interface ListFilter {
  name: Exclude<keyof TableSearch, "q" | "sort" | "open" | "follow" | "view" | "day" | "schedules">;
  label: string;
  /** `asks`: what the API is asked for where it is not the value itself; an empty text asks for rows without one. */
  choices: readonly { value: string; label: string; asks?: string }[];
}

/** Query parameters for the filters in the address. */
export function filterQuery(filters: readonly ListFilter[], search: TableSearch): Record<string, string> {
  const query: Record<string, string> = {};
  for (const { name, choices } of filters) {
    const choice = choices.find(({ value }) => value === search[name]);
    if (choice) query[name] = choice.asks ?? choice.value;
  }
  return query;
}
