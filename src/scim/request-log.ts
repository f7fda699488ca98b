/** A request of a directory, as administrators see it; never its body or its query. */
export interface ScimLogEntry {
  /** Epoch ms. */
  at: number;
  /** What the directory is called here; null for a token that is not good. */
  directory: string | null;
  method: string;
  /** Below the base. */
  path: string;
  status: number;
  /** Why it was refused; null when it was not. */
  detail: string | null;
}

/** The last requests. own choice: of this run, as the audit keeps what they changed. */
export interface ScimRequestLog {
  add(request: ScimLogEntry): void;
  /** Newest first. */
  newestFirst(): readonly ScimLogEntry[];
}

const MAX_ENTRIES = 100;

/** Makes an empty log. */
export function createScimRequestLog(): ScimRequestLog {
  const kept: ScimLogEntry[] = [];
  return {
    add(request) {
      kept.push(request);
      if (kept.length > MAX_ENTRIES) kept.shift();
    },
    newestFirst: () => kept.toReversed(),
  };
}
