/** Questions about pushes that are not ours. */
export interface PushAuthorizationRelay {
  /** Asks those who may know; false when nobody says yes in time. Never throws. */
  isAuthorized(query: URLSearchParams): Promise<boolean>;
  /** Where others are asked from now on. */
  setUrls(urls: readonly string[]): void;
}

/** What asking others needs. */
export interface PushAuthorizationRelayDeps {
  fetch(url: string, options: { timeoutMs: number }): Promise<{ status: number; body: string }>;
}

/** A phone waits for some seconds only. own choice */
const TIMEOUT_MS = 3_000;
/** Questions at once, and waiting: others' pushes must not take what ours need. own choice */
const MAX_CONCURRENT = 32;
const MAX_QUEUED = 512;

/**
 * Relays phones' questions about pushes of others to each `nextAuthenticationUrl` in turn, until one says AUTHORIZED. The
 * query holds a password: neither it nor what the call failed with is told to anybody.
 * @source protocols of phone services, authentication URL; API, nextAuthenticationUrl
 */
export function createPushAuthorizationRelay({ fetch }: PushAuthorizationRelayDeps): PushAuthorizationRelay {
  let urls: readonly string[] = [];
  let open = 0;
  const waiting: (() => void)[] = [];

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

  async function acquireSlot(): Promise<void> {
    if (open >= MAX_CONCURRENT) await new Promise<void>((resolve) => waiting.push(resolve));
    else open += 1;
  }

  return {
    async isAuthorized(query) {
      if (urls.length === 0 || waiting.length >= MAX_QUEUED) return false;
      await acquireSlot();
      try {
        for (const url of urls) if (await askUrl(url, query)) return true;
        return false;
      } finally {
        const next = waiting.shift();
        if (next) next();
        else open -= 1;
      }
    },
    setUrls(given) {
      urls = [...new Set(given)];
    },
  };
}
