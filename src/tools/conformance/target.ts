/** An answer; `body` is the JSON, null where it is none. */
export interface TargetResponse {
  status: number;
  headers: Headers;
  body: Readonly<Record<string, unknown>> | null;
}

/** What is sent; values of a form may be files. */
export type TargetBody = Record<string, unknown> | URLSearchParams | FormData | Blob;

/** The server that is checked, asked below `/api`; what is made there is kept in mind, and taken away at the end. */
export interface ConformanceTarget {
  request(method: string, path: string, body?: TargetBody): Promise<TargetResponse>;
  /** Has the row at `path` deleted at the end, last ones first. */
  trackForCleanup(path: string): void;
  /** How much is kept in mind. */
  trackedCount(): number;
  /** Deletes what was made, but for the first `spared`. Returns the paths of what would not go. */
  cleanUp(spared?: number): Promise<string[]>;
}

const TIMEOUT_MS = 30_000;

/** `url` is the server's, with or without `/api` at its end. */
export function createConformanceTarget(url: string, token: string): ConformanceTarget {
  const base = `${url.replace(/\/+$/, "").replace(/\/api$/, "")}/api`;
  const made: string[] = [];
  const request: ConformanceTarget["request"] = async (method, path, body) => {
    const headers: Record<string, string> = { authorization: `Bearer ${token}` };
    const isWhole = body instanceof FormData || body instanceof URLSearchParams || body instanceof Blob;
    if (body && !isWhole) headers["content-type"] = "application/json";
    const payload = body === undefined ? {} : { body: isWhole ? body : JSON.stringify(body) };
    const response = await fetch(base + path, { method, headers, signal: AbortSignal.timeout(TIMEOUT_MS), ...payload });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
    return { status: response.status, headers: response.headers, body: isJson && text ? JSON.parse(text) : null };
  };
  const remaining = async (paths: readonly string[]): Promise<string[]> => {
    const left: string[] = [];
    for (const path of paths) {
      const { status } = await request("DELETE", path);
      if (status !== 200 && status !== 404) left.push(path);
    }
    return left;
  };
  return {
    request,
    trackForCleanup: (path) => void made.push(path),
    trackedCount: () => made.length,
    async cleanUp(spared = 0) {
      let left = made.splice(spared).reverse();
      // A row that another one still uses goes once that is gone.
      for (let before = Number.POSITIVE_INFINITY; left.length > 0 && left.length < before; ) {
        before = left.length;
        left = await remaining(left);
      }
      return left;
    },
  };
}
