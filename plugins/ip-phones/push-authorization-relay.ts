import { createSemaphore } from "#plugin-api";

/** Relay of authentication callbacks for pushes of other applications. */
export interface PushAuthorizationRelay {
  /** Queries the next authentication URLs; false if none authorizes in time. Never throws. */
  isAuthorized(query: URLSearchParams): Promise<boolean>;
  /** Replaces the authentication URLs. */
  setUrls(urls: readonly string[]): void;
}

export interface PushAuthorizationRelayDeps {
  fetch(url: string, options: { timeoutMs: number }): Promise<{ status: number; body: string }>;
}

/** A phone waits only some seconds. */
const TIMEOUT_MS = 3_000;
/** Concurrent and queued requests: pushes of others must not starve our own. */
const MAX_CONCURRENT = 32;
const MAX_QUEUED = 512;

/**
 * Relays callbacks to each `nextAuthenticationUrl` in turn, until one answers AUTHORIZED. The query holds a password:
 * neither it nor an error of the request is logged.
 * @source docs/decisions/0032-phone-push.md, Authentication URL
 */
export function createPushAuthorizationRelay({ fetch }: PushAuthorizationRelayDeps): PushAuthorizationRelay {
  let urls: readonly string[] = [];
  const withConcurrencyLimit = createSemaphore(MAX_CONCURRENT, MAX_QUEUED);

  async function askUrl(next: string, query: URLSearchParams): Promise<boolean> {
    const url = new URL(next);
    for (const name of ["UserID", "Password", "devicename"]) url.searchParams.set(name, query.get(name) ?? "");
    try {
      const { status, body } = await fetch(url.href, { timeoutMs: TIMEOUT_MS });
      return status === 200 && /^\s*AUTHORIZED\b/.test(body);
    } catch {
      return false;
    }
  }

  async function askAll(query: URLSearchParams): Promise<boolean> {
    for (const url of urls) if (await askUrl(url, query)) return true;
    return false;
  }

  return {
    async isAuthorized(query) {
      if (urls.length === 0) return false;
      // It rejects only if too many wait.
      return withConcurrencyLimit(() => askAll(query)).catch(() => false);
    },
    setUrls(given) {
      urls = [...new Set(given)];
    },
  };
}
