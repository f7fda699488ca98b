import type { Clock } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import { type FetchResponse, type GuardedFetchDeps, guardedFetch } from "../lib/guarded-fetch.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { SsrfGuard } from "../lib/ssrf-guard.ts";
import { decodeCalendar } from "./calendar-encoding.ts";

/** What the address of a calendar returned. Reasons hold no URL, since it may contain a token. */
export type FetchedCalendar =
  | { kind: "unchanged" }
  | { kind: "calendar"; text: string; etag: string | null; lastModified: string | null }
  /** The server responded, but not with a calendar. */
  | { kind: "failed"; reason: string }
  /** The server does not respond, or asks to come back later. */
  | { kind: "unreachable"; reason: string };

export interface CalendarFetchDeps {
  clock: Clock;
  ssrfGuard: SsrfGuard;
  /** Aborts calls on shutdown. */
  signal: AbortSignal;
}

/** Of the version that is known. */
export interface KnownVersion {
  etag: string | null;
  lastModified: string | null;
}

/** @source docs/decisions/0542-calendar-subscriptions.md, Fetching */
const TIMEOUT_MS = 30_000;
const MAX_BYTES = 4 * 1_048_576;
const MAX_REDIRECTS = 5;
const MAX_VALIDATOR_LENGTH = 1_000;

/** Fetches a calendar, unless it is still the known version. Redirects are followed, each through the guard. */
export async function fetchCalendar(
  url: string,
  known: KnownVersion,
  deps: CalendarFetchDeps,
): Promise<FetchedCalendar> {
  try {
    return interpretResponse(await fetchFollowing(url, known, deps));
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    // Too large is no matter of the network.
    const kind = /longer than/.test(error.message) ? "failed" : "unreachable";
    return { kind, reason: error.message };
  }
}

async function fetchFollowing(
  url: string,
  { etag, lastModified }: KnownVersion,
  deps: GuardedFetchDeps,
): Promise<FetchResponse> {
  const headers = {
    accept: "text/calendar, text/plain;q=0.5, */*;q=0.1",
    "accept-encoding": "identity",
    "user-agent": "Carillon",
    ...(etag === null ? {} : { "if-none-match": etag }),
    ...(lastModified === null ? {} : { "if-modified-since": lastModified }),
  };
  let target = url;
  for (let redirects = 0; ; redirects++) {
    const response = await guardedFetch(
      target,
      { headers, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, binary: true },
      deps,
    );
    const { location } = response.headers;
    if (![301, 302, 303, 307, 308].includes(response.status) || location === undefined) return response;
    const { host } = new URL(target);
    const next = redirectTarget(target, location);
    const problem =
      redirects === MAX_REDIRECTS
        ? sentence("calendar.redirects", { host, limit: MAX_REDIRECTS })
        : next === null
          ? sentence("calendar.redirect-refused", { host })
          : null;
    if (problem !== null || next === null) throw new UpstreamError("upstream", problem ?? "", { host });
    target = next;
  }
}

/** Null for a target that must not be followed: a redirect from https to http would reveal the token of the address. */
function redirectTarget(from: string, location: string): string | null {
  const written = location.replace(/^webcals?:/i, "https:");
  if (!URL.canParse(written, from)) return null;
  const next = new URL(written, from);
  if (!/^https?:$/.test(next.protocol)) return null;
  return from.startsWith("https:") && next.protocol === "http:" ? null : next.href;
}

function interpretResponse({ status, headers, bytes }: FetchResponse): FetchedCalendar {
  if (status === 304) return { kind: "unchanged" };
  if (status === 429 || status >= 500) return { kind: "unreachable", reason: sentence("calendar.status", { status }) };
  if (status !== 200) return { kind: "failed", reason: failureOf(status) };
  const text = decodeCalendar(Buffer.from(bytes ?? []));
  const start = text
    .replace(/^\uFEFF/, "")
    .trimStart()
    .slice(0, 100);
  if (start === "") return { kind: "failed", reason: sentence("calendar.empty") };
  if (start.startsWith("<"))
    return {
      kind: "failed",
      reason: sentence("calendar.web-page"),
    };
  if (!/^BEGIN:(VCALENDAR|VEVENT)/i.test(start)) return { kind: "failed", reason: sentence("calendar.no-calendar") };
  if (!/^BEGIN:VEVENT/im.test(text)) return { kind: "failed", reason: sentence("calendar.no-events") };
  return { kind: "calendar", text, etag: validator(headers.etag), lastModified: validator(headers["last-modified"]) };
}

function failureOf(status: number): string {
  if (status === 404 || status === 410) return sentence("calendar.gone", { status });
  if (status === 401 || status === 403) return sentence("calendar.refused", { status });
  return sentence("calendar.status", { status });
}

function validator(value: string | undefined): string | null {
  return value === undefined || value.length > MAX_VALIDATOR_LENGTH ? null : value;
}
