/** What one worker sends. */
export interface FloodWork {
  /** Base URL of the server. */
  url: string;
  connections: number;
  /** Source address of the connections. */
  localAddress: string;
  /** Sent in turn on all connections; empty: the connections are only held open. */
  requests: { method: string; path: string; headers: Record<string, string>; body: string }[];
}

/** What floods need to know about the appliance. */
export interface FloodTarget {
  url: string;
  /** URL of the phones' authentication server. */
  authUrl: string;
  /** Token of a user without any permission. */
  token: string;
  /** Token of a user who may read. */
  readerToken: string;
  /** Token of the user who sends the emergencies. */
  adminToken: string;
}

/** A flood by name; the requests of a user are found by a search (see `expensive-requests.ts`). */
export interface Flood {
  name: string;
  work(target: FloodTarget): FloodWork;
}

/** Address of the attackers, other than that of the tests. */
const ELSEWHERE = "127.0.0.2";
const HERE = "127.0.0.1";
const WORDS = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliett"].concat([
  "kilo",
  "lima",
  "mike",
  "person",
]);
const JSON_HEADERS = { "content-type": "application/json" };

/** A search for any of 14 words. */
export const SEARCH = `{"or":${JSON.stringify(WORDS.map((word) => word.slice(0, 6)))}}`;

const get = (path: string, headers: Record<string, string> = {}) => ({ method: "GET", path, headers, body: "" });
const post = (path: string, fields: object) => ({
  ...{ method: "POST", path, headers: JSON_HEADERS, body: JSON.stringify(fields) },
});
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** Floods of strangers, and the search of a user. */
export const FLOODS: readonly Flood[] = [
  {
    name: "search",
    work: ({ url, token }) => ({
      ...{ url, connections: 200, localAddress: ELSEWHERE },
      requests: [get(`/api/v1/users?limit=1&q=${encodeURIComponent(SEARCH)}`, bearer(token))],
    }),
  },
  {
    name: "same-user",
    work: ({ url, adminToken }) => ({
      ...{ url, connections: 200, localAddress: ELSEWHERE },
      requests: [get(`/api/v1/users?limit=1000&q=${encodeURIComponent(SEARCH)}`, bearer(adminToken))],
    }),
  },
  {
    name: "openapi",
    work: ({ url }) => ({
      ...{ url, connections: 200, localAddress: ELSEWHERE },
      requests: [get("/api/v1/openapi.json"), get("/api/v1/openapi.json", { "accept-encoding": "gzip" })],
    }),
  },
  {
    name: "console",
    work: ({ url }) => ({
      ...{ url, connections: 200, localAddress: ELSEWHERE },
      requests: ["/", "/help/", "/help/search?q=bell", "/api/v1/docs", "/api/v1/docs/users"].map((path) => get(path)),
    }),
  },
  { name: "connections", work: ({ url }) => ({ url, connections: 2_000, localAddress: ELSEWHERE, requests: [] }) },
  {
    name: "connections-of-this-address",
    work: ({ url }) => ({ url, connections: 2_000, localAddress: HERE, requests: [] }),
  },
  {
    name: "phone-authentication",
    work: ({ authUrl }) => {
      const { origin, pathname } = new URL(authUrl);
      const guess = "?UserID=stranger&Password=guess&devicename=SEP000000000001";
      return { url: origin, connections: 300, localAddress: ELSEWHERE, requests: [get(`${pathname}${guess}`)] };
    },
  },
  {
    name: "set-up",
    work: ({ url }) => ({
      ...{ url, connections: 300, localAddress: ELSEWHERE },
      requests: [
        get("/api/setup"),
        post("/api/setup", { code: "guess", email: "stranger@example.org", password: "a guess of a stranger" }),
      ],
    }),
  },
  {
    name: "log-in",
    work: ({ url }) => ({
      ...{ url, connections: 200, localAddress: ELSEWHERE },
      requests: [post("/api/login", { email: "admin@example.org", password: "a guess of a stranger" })],
    }),
  },
];

/** 200 connections of the user who may read that all send one request. */
export function floodOf(path: string, name: string): Flood {
  return {
    name,
    work: ({ url, readerToken }) => ({
      ...{ url, connections: 200, localAddress: ELSEWHERE },
      requests: [get(path, bearer(readerToken))],
    }),
  };
}
