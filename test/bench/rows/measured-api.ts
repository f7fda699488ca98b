/** Calls the API; `path` begins behind `/api/v1/`. Rejects with what was answered instead of success. */
export type BenchmarkApi = (method: string, path: string, body?: unknown) => Promise<Record<string, unknown>>;

/** Makes it for a daemon and a token. */
export function createBenchmarkApi(url: string, token: string): BenchmarkApi {
  return async (method, path, body) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const response = await fetch(`${url}/api/v1/${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Record<string, unknown>;
    if (response.status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer;
  };
}
