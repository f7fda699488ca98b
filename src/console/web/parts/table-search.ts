/** The part of the address that says what a table shows; absent members are left out. */
export interface TableSearch {
  q?: string;
  sort?: string;
  level?: string;
  type?: string;
  open?: string;
}

/** Keeps the known texts of an address's query. */
export function readTableSearch(search: Readonly<Record<string, unknown>>): TableSearch {
  const kept: TableSearch = {};
  for (const name of ["q", "sort", "level", "type", "open"] as const) {
    const value = search[name];
    if (value !== undefined && value !== "") kept[name] = String(value);
  }
  return kept;
}
