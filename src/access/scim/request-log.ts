/** A request of a directory, as administrators see it; never its body or its query. */
export interface LoggedRequest {
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
export interface RequestLog {
  add(request: LoggedRequest): void;
  /** Newest first. */
  last(): readonly LoggedRequest[];
}

const MOST_KEPT = 100;

/** Makes an empty log. */
export function createRequestLog(): RequestLog {
  const kept: LoggedRequest[] = [];
  return {
    add(request) {
      kept.push(request);
      if (kept.length > MOST_KEPT) kept.shift();
    },
    last: () => kept.toReversed(),
  };
}
