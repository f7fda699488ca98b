/** A response; `body` is the parsed JSON, null for other content. */
export interface TargetResponse {
  status: number;
  headers: Headers;
  body: Readonly<Record<string, unknown>> | null;
}

/** A request body; form values may be files. */
export type TargetBody = Record<string, unknown> | URLSearchParams | FormData | Blob;

/** The checked server, with paths below `/api`; tracks created rows and deletes them at the end. */
export interface ConformanceTarget {
  /** Token of the run, which requests send in the header. */
  readonly token: string;
  /** `headers` replace those of the run; undefined leaves one out. */
  request(
    method: string,
    path: string,
    body?: TargetBody,
    headers?: Readonly<Record<string, string | undefined>>,
  ): Promise<TargetResponse>;
  /** Registers the row at `path` for deletion at the end, in reverse order. */
  trackForCleanup(path: string): void;
  /** Number of registered rows. */
  trackedCount(): number;
  /** Deletes registered rows except the first `spared`. Returns the paths of rows that could not be deleted. */
  cleanUp(spared?: number): Promise<string[]>;
}

const TIMEOUT_MS = 30_000;

/** `url`: base URL of the server, with or without `/api`. */
export function createConformanceTarget(url: string, token: string): ConformanceTarget {
  const base = `${url.replace(/\/+$/, "").replace(/\/api$/, "")}/api`;
  const created: string[] = [];
  const request: ConformanceTarget["request"] = async (method, path, body, given = {}) => {
    const all = Object.entries({ authorization: `Bearer ${token}`, ...given });
    const headers = Object.fromEntries(all.filter((each): each is [string, string] => each[1] !== undefined));
    const isEncoded = body instanceof FormData || body instanceof URLSearchParams || body instanceof Blob;
    if (body && !isEncoded) headers["content-type"] = "application/json";
    const payload = body === undefined ? {} : { body: isEncoded ? body : JSON.stringify(body) };
    const response = await fetch(base + path, { method, headers, signal: AbortSignal.timeout(TIMEOUT_MS), ...payload });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
    return { status: response.status, headers: response.headers, body: isJson && text ? JSON.parse(text) : null };
  };
  const deleteAll = async (paths: readonly string[]): Promise<string[]> => {
    const left: string[] = [];
    for (const path of paths) {
      const { status } = await request("DELETE", path);
      if (status !== 200 && status !== 404) left.push(path);
    }
    return left;
  };
  return {
    token,
    request,
    trackForCleanup: (path) => void created.push(path),
    trackedCount: () => created.length,
    async cleanUp(spared = 0) {
      let left = created.splice(spared).reverse();
      // A row that is still referenced can be deleted after the row that refers to it.
      for (let before = Number.POSITIVE_INFINITY; left.length > 0 && left.length < before; ) {
        before = left.length;
        left = await deleteAll(left);
      }
      return left;
    },
  };
}
