import type { Clock, Timer } from "#plugin-api";
import { firstHeader, headerValues, type SipHeaders, type SipMessage, type SipRequest } from "./sip-message.ts";
import { headerParameters } from "./sip-uri.ts";

/** Refreshes a session that must not outlive the loss of a side, and ends it if refreshing fails. @source RFC 4028 */
export interface SessionTimer {
  /** Adopts the interval of a 2xx to our request; without one the session does not expire. */
  adopt(response: Pick<SipMessage, "headers">): void;
  /** Headers of our next request that refreshes the session. */
  refreshHeaders(): SipHeaders;
  /** A refresh was refused for being too frequent; false if a longer interval is useless too. */
  lengthen(response: Pick<SipMessage, "headers">): boolean;
  /** Headers of the 2xx to a request that refreshes the session; null if its interval is too small (422). */
  answer(request: SipRequest): SipHeaders | null;
  stop(): void;
}

/** Smallest interval that this side accepts, as the standard has it. @source RFC 4028 §4 */
export const MIN_SESSION_S = 90;
const MAX_SESSION_S = 86_400;
/** A session that is not refreshed ends this long before it expires, but at most a third of the interval. */
const EXPIRES_EARLIER_S = 32;
/** Peers that name a tiny interval are not asked more often than this. */
const MIN_REFRESH_MS = 5_000;

/** Creates the timer of a call; it does nothing until an interval is agreed. */
export function createSessionTimer({
  clock,
  refresh,
  expire,
}: {
  clock: Clock;
  /** Sends a request that refreshes the session. */
  refresh(): void;
  /** The session was not refreshed in time. */
  expire(): void;
}): SessionTimer {
  let seconds: number | null = null;
  /** Smallest interval that the peers accept. */
  let leastSeconds = 0;
  let isRefresher = false;
  let next: Timer | null = null;
  let end: Timer | null = null;

  const stop = (): void => {
    next?.cancel();
    end?.cancel();
  };
  const scheduleRefresh = (untilExpiryMs: number): void => {
    const waitMs = Math.max(MIN_REFRESH_MS, untilExpiryMs / 2);
    next = clock.after(waitMs, () => {
      refresh();
      // Unless it succeeds, which starts the timer again.
      if (untilExpiryMs > 2 * MIN_REFRESH_MS) scheduleRefresh(untilExpiryMs - waitMs);
    });
  };
  const start = (interval: number, isOurs: boolean): void => {
    stop();
    seconds = Math.min(MAX_SESSION_S, interval);
    isRefresher = isOurs;
    end = clock.after((seconds - Math.min(EXPIRES_EARLIER_S, seconds / 3)) * 1_000, () => {
      next?.cancel();
      expire();
    });
    if (isOurs) scheduleRefresh(seconds * 1_000);
  };

  return {
    stop,
    adopt(response) {
      const agreed = parseInterval(response);
      stop();
      seconds = null;
      // The 2xx names the refresher from the view of the request that it answers, which was ours.
      if (agreed) start(agreed.seconds, agreed.refresher !== "uas");
    },
    refreshHeaders() {
      if (seconds === null && leastSeconds === 0) return [];
      const interval = Math.max(seconds ?? 0, leastSeconds);
      const refresher = seconds === null ? "" : `;refresher=${isRefresher ? "uac" : "uas"}`;
      const least: SipHeaders = leastSeconds === 0 ? [] : [["Min-SE", String(leastSeconds)]];
      return [["Session-Expires", `${interval}${refresher}`], ...least];
    },
    lengthen(response) {
      const least = parseSeconds(firstHeader(response, "Min-SE"));
      if (least === null || least <= leastSeconds || least > MAX_SESSION_S) return false;
      leastSeconds = least;
      return true;
    },
    answer(request) {
      const asked = parseInterval(request);
      const hasTimer = headerValues(request, "Supported").some((tag) => tag.toLowerCase() === "timer");
      if (!asked) {
        stop();
        seconds = null;
        return [];
      }
      if (asked.seconds < MIN_SESSION_S && hasTimer) return null;
      // Who sends the request refreshes, unless it leaves that to this side or cannot.
      const isOurs = asked.refresher === "uas" || (asked.refresher === null && !hasTimer);
      start(Math.max(MIN_SESSION_S, asked.seconds), isOurs);
      return [
        ["Session-Expires", `${seconds};refresher=${isOurs ? "uas" : "uac"}`],
        ...(hasTimer && !isOurs ? [["Require", "timer"] as const] : []),
      ];
    },
  };
}

function parseInterval(message: Pick<SipMessage, "headers">): { seconds: number; refresher: string | null } | null {
  const text = firstHeader(message, "Session-Expires");
  const seconds = parseSeconds(text);
  const refresher = headerParameters(text ?? "")
    .get("refresher")
    ?.toLowerCase();
  return seconds === null || seconds === 0 ? null : { seconds, refresher: refresher ?? null };
}

function parseSeconds(text: string | null): number | null {
  const [, digits] = /^\s*(\d{1,9})\s*(?:;|$)/.exec(text ?? "") ?? [];
  return digits === undefined ? null : Number(digits);
}
