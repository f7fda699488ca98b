import { type Clock, sleep } from "../lib/clock.ts";
import { CallerError } from "../lib/errors.ts";
import { createConnectionPool, type FetchResponse, guardedFetch } from "../lib/guarded-fetch.ts";
import { parseRetryAfterMs } from "../lib/retry-after.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { SsrfGuard } from "../lib/ssrf-guard.ts";

/** Where a OneRoster service is, and who calls it. */
export interface OneRosterAccess {
  /** Base URL, such as `https://example.org/ims/oneroster/rostering/v1p2`. */
  url: string;
  tokenUrl: string;
  clientId: string;
  clientSecret: string;
}

export interface OneRosterClientDeps {
  ssrfGuard: SsrfGuard;
  clock: Clock;
  signal: AbortSignal;
}

/** A record of the service, as it was sent. */
export type ApiRecord = Readonly<Record<string, unknown>>;

/** A collection that was read to its end. */
export interface ApiCollection {
  records: ApiRecord[];
  /** Records that came again, because rows moved between pages. */
  repeated: number;
  /** What the service said that there are; null if it does not say. */
  total: number | null;
}

export interface OneRosterClient {
  /**
   * Reads all pages of a collection, such as `users`; only records changed since a time, if one is given. Throws CallerError if
   * the service refuses, fails or sends something else.
   */
  read(collection: string, since: string | null): Promise<ApiCollection>;
  close(): void;
}

const PAGE_SIZE = 1_000;
const MAX_PAGE_BYTES = 32 * 1_048_576;
/** Limits of a collection, above the largest districts. */
const MAX_RECORDS = 2_000_000;
const MAX_PAGES = 20_000;
const RESPONSE_TIMEOUT_MS = 30_000;
/** Attempts per request; the wait doubles from the first one. */
const MAX_ATTEMPTS = 6;
const FIRST_WAIT_MS = 2_000;
const MAX_WAIT_MS = 300_000;
/** A token is renewed this long before its end. */
const TOKEN_MARGIN_MS = 30_000;

/** @source 1EdTech OneRoster 1.2 Rostering Service, Security */
const SCOPE = (version: "v1p1" | "v1p2"): string =>
  `https://purl.imsglobal.org/spec/or/${version}/scope/roster-core.readonly`;

/** Opens a client; it asks for a token at the first request. */
export function createOneRosterClient(access: OneRosterAccess, deps: OneRosterClientDeps): OneRosterClient {
  const { clock, signal } = deps;
  const base = access.url.replace(/\/+$/, "");
  const connections = createConnectionPool(1);
  let token: { value: string; expiresAt: number } | null = null;

  const send = (url: string, options: Parameters<typeof guardedFetch>[1]): Promise<FetchResponse> =>
    guardedFetch(
      url,
      { ...options, timeoutMs: RESPONSE_TIMEOUT_MS, maxBytes: MAX_PAGE_BYTES },
      { ...deps, connections },
    );

  async function requestToken(): Promise<string> {
    const scope = SCOPE(/\/v1p1(\/|$)/.test(base) ? "v1p1" : "v1p2");
    const form = new URLSearchParams({ grant_type: "client_credentials", scope });
    const headers = { "content-type": "application/x-www-form-urlencoded", accept: "application/json" };
    const [id, secret] = [access.clientId, access.clientSecret].map(encodeURIComponent);
    const authorization = `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`;
    let response = await withRetries(() =>
      send(access.tokenUrl, { method: "POST", headers: { ...headers, authorization }, body: form.toString() }),
    );
    if (response.status === 400 || response.status === 401) {
      // Some services take the secret in the body only. @source RFC 6749 §2.3.1
      const body = new URLSearchParams({ ...Object.fromEntries(form), client_id: access.clientId });
      body.set("client_secret", access.clientSecret);
      response = await withRetries(() => send(access.tokenUrl, { method: "POST", headers, body: body.toString() }));
    }
    const host = new URL(access.tokenUrl).host;
    if (response.status !== 200) {
      const advice = sentence("roster.check-tokenurl-clientid-and-clientsecret-and-that-the-scope-roster");
      throw failure(
        sentence("roster.host-gave-no-token-http-status-advice", { host, status: response.status, advice }),
      );
    }
    const given = parseJson(response, host) as { access_token?: unknown; expires_in?: unknown };
    if (typeof given.access_token !== "string" || !/^[\x21-\x7e]+$/.test(given.access_token)) {
      throw failure(sentence("roster.host-answered-without-an-access-token-check-tokenurl", { host }));
    }
    const seconds = Number(given.expires_in ?? 3_600);
    token = { value: given.access_token, expiresAt: clock.monotonicMs() + (seconds > 0 ? seconds : 3_600) * 1_000 };
    return token.value;
  }

  /** Repeats a request while the service is busy or fails, as long as it asks for. */
  async function withRetries(request: () => Promise<FetchResponse>): Promise<FetchResponse> {
    for (let attempt = 1; ; attempt++) {
      signal.throwIfAborted();
      const result = await request().catch((error: unknown) => error as Error);
      const isBusy = !(result instanceof Error) && (result.status === 429 || result.status >= 500);
      if (!(result instanceof Error) && !isBusy) return result;
      if (attempt >= MAX_ATTEMPTS || signal.aborted) {
        if (result instanceof Error) throw result;
        return result;
      }
      const asked = result instanceof Error ? 0 : (parseRetryAfterMs(result.headers["retry-after"], clock.now()) ?? 0);
      await sleep(clock, Math.min(MAX_WAIT_MS, Math.max(asked, FIRST_WAIT_MS * 2 ** (attempt - 1))), signal);
    }
  }

  async function get(url: string): Promise<FetchResponse> {
    const { host } = new URL(url);
    let isRenewed = false;
    for (;;) {
      const isOld = token === null || token.expiresAt - TOKEN_MARGIN_MS <= clock.monotonicMs();
      const value = isOld || token === null ? await requestToken() : token.value;
      const headers = { accept: "application/json", authorization: `Bearer ${value}` };
      const response = await withRetries(() => send(url, { headers }));
      if (response.status === 200) return response;
      if (response.status === 401 && !isRenewed) {
        // It ended early, or was revoked.
        isRenewed = true;
        token = null;
        continue;
      }
      throw failure(
        sentence("roster.host-responded-with-http-status-advice", {
          host,
          status: response.status,
          advice: adviceFor(response.status),
        }),
      );
    }
  }

  return {
    async read(collection, since) {
      const query = new URLSearchParams({ limit: String(PAGE_SIZE), offset: "0" });
      if (since !== null) query.set("filter", `dateLastModified>='${since}'`);
      const records = new Map<string, ApiRecord>();
      let repeated = 0;
      let received = 0;
      let total: number | null = null;
      let next: string | null = `${base}/${collection}?${query}`;
      for (let pages = 0; next !== null; pages++) {
        if (pages >= MAX_PAGES || records.size > MAX_RECORDS)
          throw failure(sentence("roster.collection-too-many-records", { collection }));
        const response = await get(next);
        const page = recordsOf(parseJson(response, new URL(next).host), collection);
        const before = records.size;
        for (const [at, record] of page.entries()) {
          const id = typeof record.sourcedId === "string" ? record.sourcedId : `without sourcedId ${received + at}`;
          if (records.has(id)) repeated++;
          records.set(id, record);
        }
        received += page.length;
        const said = Number(response.headers["x-total-count"] ?? Number.NaN);
        if (Number.isInteger(said) && said >= 0) total = said;
        if (page.length > 0 && records.size === before) {
          throw failure(sentence("roster.collection-the-service-sends-the-same-page-again-it-may", { collection }));
        }
        next = nextPage(response, { url: next, base, collection, query, received, pageLength: page.length, total });
      }
      return { records: [...records.values()], repeated, total };
    },
    close: connections.close,
  };
}

interface PageState {
  url: string;
  base: string;
  collection: string;
  query: URLSearchParams;
  received: number;
  pageLength: number;
  total: number | null;
}

/** URL of the next page; null at the end. @source RFC 8288; OneRoster 1.2 Rostering Service, Pagination */
function nextPage({ headers }: FetchResponse, page: PageState): string | null {
  if (page.pageLength === 0) return null;
  const link = /<([^>]+)>\s*;[^,<]*\brel\s*=\s*"?next"?/i.exec(headers.link ?? "")?.[1];
  if (link !== undefined) {
    const target = URL.canParse(link, page.url) ? new URL(link, page.url) : null;
    // The token is for this service only.
    if (target?.origin !== new URL(page.base).origin)
      throw failure(sentence("roster.collection-the-next-page-is-at-another-host", { collection: page.collection }));
    return target.href;
  }
  // A service that links its pages has ended; others end with their total, or with an empty page.
  if (/\brel\s*=/i.test(headers.link ?? "")) return null;
  if (page.total !== null && page.received >= page.total) return null;
  const query = new URLSearchParams(page.query);
  query.set("offset", String(page.received));
  return `${page.base}/${page.collection}?${query}`;
}

function recordsOf(body: unknown, collection: string): ApiRecord[] {
  const list = (body as Record<string, unknown> | null)?.[collection];
  if (!Array.isArray(list)) {
    throw failure(sentence("roster.collection-the-response-has-no-list-collection-the-url-must", { collection }));
  }
  return list.filter((record): record is ApiRecord => typeof record === "object" && record !== null);
}

function parseJson({ body, headers }: FetchResponse, host: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    const isPage = /html/i.test(headers["content-type"] ?? "") || /^\s*</.test(body);
    throw failure(
      isPage
        ? sentence("roster.host-answered-with-a-web-page-such-as-a-login", { host })
        : sentence("roster.host-answered-with-something-else-than-json-check-the-url", { host }),
    );
  }
}

function adviceFor(status: number): string {
  if (status === 401 || status === 403)
    return sentence("roster.the-client-must-be-allowed-to-read-rosters-scope-roster");
  if (status === 404) return sentence("roster.the-url-must-end-with-the-version-such-as-ims");
  if (status === 429) return sentence("roster.it-limits-the-rate-of-requests-load-less-often");
  return sentence("roster.try-again-later");
}

function failure(message: string): CallerError {
  return new CallerError("invalid-value", message);
}
