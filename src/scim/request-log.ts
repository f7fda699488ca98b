/** A logged SCIM request, without body and query. */
export interface ScimLogEntry {
  /** Epoch ms. */
  at: number;
  /** Name of the directory; null for an invalid token. */
  directory: string | null;
  method: string;
  /** Path below the base URL. */
  path: string;
  status: number;
  /** Error detail; null on success. */
  detail: string | null;
}

/** The last requests, in memory only; the audit stores their changes. */
export interface ScimRequestLog {
  add(request: ScimLogEntry): void;
  /** Newest first. */
  newestFirst(): readonly ScimLogEntry[];
}

const MAX_ENTRIES = 100;

/** Creates an empty log. */
export function createScimRequestLog(): ScimRequestLog {
  const entries: ScimLogEntry[] = [];
  return {
    add(request) {
      entries.push(request);
      if (entries.length > MAX_ENTRIES) entries.shift();
    },
    newestFirst: () => entries.toReversed(),
  };
}
