import { hash, randomBytes } from "node:crypto";
import type { IdentityProviderRow } from "../auth/identity-providers.ts";
import type { LoginService } from "../auth/login.ts";
import { MAX_SESSION_MS, revokeUserSessions } from "../auth/sessions.ts";
import type { Log } from "../lib/log.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import users from "../resources/people/users.ts";
import type { ActorContext, Sync } from "../store/store.ts";
import { LoginError } from "./login-error.ts";
import { consumeValue, consumeValues, putIfAbsent, putValue } from "./login-state-store.ts";
import { openPendingLogin, type PendingLogin, sanitizeReturnPath, sealPendingLogin } from "./pending-login.ts";
import type {
  CallbackParameters,
  ExternalIdentity,
  LogoutNotice,
  ProviderDeps,
  RedirectLogin,
  RedirectState,
} from "./provider.ts";
import type { IdentityProviders } from "./providers.ts";
import type { SamlLogoutMessage } from "./saml-worker-messages.ts";

/** Time for the browser to redeem a ticket after the provider's POST. */
const TICKET_LIFETIME_MS = 60_000;
/** Browsers drop longer cookies. */
const MAX_COOKIE_LENGTH = 8_192;

/** A started session and the redirect target. */
export interface LoginSession {
  /** Value of the session cookie. */
  session: string;
  /** Local path. */
  returnPath: string;
  /** Value of the cookie for a logout at the provider; null if it needs none. */
  logoutCookie: string | null;
}

/** Browser data of a callback. */
export interface BrowserContext {
  /** The login cookie set by `begin`. */
  cookie: string | null;
  /** Network address. */
  address: string | null;
}

/**
 * Login through the pages of a provider. All methods throw LoginError; `finish`, `acceptPost` and `redeemTicket` also
 * throw TooManyRequestsError.
 */
export interface RedirectLoginService {
  /** Starts a login: the redirect, and the login cookie that ties the callback to this browser. */
  begin(providerId: string, to: string | null): Promise<{ location: string; cookie: string }>;
  /** Handles a callback with query parameters. */
  finish(providerId: string, parameters: CallbackParameters, browser: BrowserContext): Promise<LoginSession>;
  /**
   * Handles a callback by POST, for which browsers send no cookie: stores the identity under a single-use ticket, which
   * the browser redeems with its cookie. The ticket is null for a login that started at the provider: the caller restarts it.
   */
  acceptPost(
    providerId: string,
    parameters: CallbackParameters,
    address: string | null,
  ): Promise<{ ticket: string | null }>;
  /** Redeems a ticket. */
  redeemTicket(providerId: string, ticket: string, browser: BrowserContext): Promise<LoginSession>;
  /**
   * Ends the sessions that a logout token of the provider names: all sessions of these users, since a user has few. Throws
   * LoginError, TooManyRequestsError.
   */
  acceptLogoutToken(providerId: string, token: string, address: string | null): Promise<void>;
  /** As `acceptLogoutToken`, for a logout request that the browser brings; returns where it goes back. */
  acceptLogoutRequest(providerId: string, message: SamlLogoutMessage, address: string | null): Promise<string>;
  /** The logout URL of the provider, or `/` if it has none. */
  buildLogoutUrl(providerId: string, logoutCookie: string | null): Promise<string>;
  /** Service provider metadata as XML. */
  metadata(providerId: string): Promise<string>;
}

/** Dependencies of the redirect login. */
export interface RedirectLoginDeps extends ProviderDeps {
  providers: IdentityProviders;
  loginService: Pick<LoginService, "loginVerifiedUser" | "registerAttempt">;
  log: Log;
  by: ActorContext;
}

/** Creates the redirect login service. */
export function createRedirectLoginService(deps: RedirectLoginDeps): RedirectLoginService {
  const { store, clock, providers, loginService, log, by, baseUrl } = deps;

  function requireRedirect(providerId: string): { row: IdentityProviderRow; redirect: RedirectLogin } {
    const { row, provider } = providers.requireEnabled(providerId);
    if (!provider.redirect)
      throw new LoginError("off", sentence("login.the-identity-provider-does-not-support-redirect-login"));
    return { row, redirect: provider.redirect };
  }

  /** Audits refused logins, except those that anyone could cause without a provider, and applies the login throttle. */
  async function withAudit<T>(providerId: string, address: string | null, work: () => Promise<T>): Promise<T> {
    const rollbackAttempt = loginService.registerAttempt(address);
    try {
      const result = await work();
      rollbackAttempt();
      return result;
    } catch (error) {
      if (!(error instanceof LoginError)) throw error;
      const { code, userId } = error;
      log.warn(
        { event: "sso.login_refused", providerId, reason: code, error: error.message },
        "login through identity provider refused",
      );
      if (code === "down") rollbackAttempt();
      if (code === "stale" || code === "off") throw error;
      const name = (userId && store.get(users, userId)?.name) || "unknown account";
      const actor = { kind: "user", userId, name, address } as const;
      const details = { identityProviderId: providerId, reason: code };
      await store.write((tx) =>
        tx.addAuditEvent({ op: "log-in-refused", resource: users.name, rowId: userId, details }, { ...by, actor }),
      );
      throw error;
    }
  }

  function requirePendingLogin({ cookie }: BrowserContext, providerId: string): PendingLogin {
    const pending = openPendingLogin(store.secrets, cookie, clock.now());
    if (pending?.providerId === providerId) return pending;
    throw new LoginError("stale", sentence("login.the-login-was-not-started-in-this-browser-or-it"));
  }

  async function startSession(
    row: IdentityProviderRow,
    identity: ExternalIdentity,
    returnPath: string,
    { address }: BrowserContext,
  ): Promise<LoginSession> {
    const { id } = await providers.provisionAccount(row, identity);
    const session = await loginService.loginVerifiedUser(id, address);
    const until = clock.now() + MAX_SESSION_MS;
    const keys = identity.sessionKeys ?? [];
    await store.write((tx) => {
      for (const key of keys) putValue(tx, { key: sessionKey(row.id, key), value: id, until });
    });
    const { logoutState } = identity;
    const sealed = row.logOut && logoutState ? sealPendingLogout(row.id, logoutState) : null;
    return { session, returnPath, logoutCookie: sealed };
  }

  function sealPendingLogout(providerId: string, state: RedirectState): string {
    return store.secrets.seal(JSON.stringify({ providerId, state }));
  }

  /** Null if the cookie is missing, of another provider, or forged. */
  function openPendingLogout(providerId: string, cookie: string | null): RedirectState | null {
    if (cookie === null || cookie.length > MAX_COOKIE_LENGTH) return null;
    try {
      const known = JSON.parse(store.secrets.open(cookie)) as { providerId: string; state: RedirectState };
      return known.providerId === providerId ? known.state : null;
    } catch {
      return null;
    }
  }

  /** Ends all sessions of the users whom a notice names; the throttle counts the notices that are refused. */
  async function endSessions<T extends LogoutNotice>(
    row: IdentityProviderRow,
    address: string | null,
    read: () => Promise<T> | undefined,
  ): Promise<T | undefined> {
    const rollbackAttempt = loginService.registerAttempt(address);
    const notice = await read();
    if (!notice) return notice;
    const now = clock.now();
    const key = `logout ${row.id} ${hash("sha256", notice.id, "hex")}`;
    const isNew = await putIfAbsent(store, { key, value: "", until: notice.until, now });
    if (!isNew) throw new LoginError("replayed", sentence("login.logout-token-used"));
    const keys = notice.sessionKeys.map((each) => sessionKey(row.id, each));
    const userIds = await store.write((tx) => {
      const found = new Set(consumeValues(tx, keys, now));
      for (const userId of found) revokeUserSessions(tx, userId, by);
      return [...found] as Sync<string[]>;
    });
    rollbackAttempt();
    const providerId = row.id;
    log.info({ event: "sso.sessions_ended", providerId, userIds }, "identity provider ended the sessions of a user");
    return notice;
  }

  return {
    async begin(providerId, to) {
      const { redirect } = requireRedirect(providerId);
      const relay = randomBytes(24).toString("base64url");
      const { location, kept } = await redirect.begin(relay);
      const pending = { providerId, relay, to: sanitizeReturnPath(to), kept, at: clock.now() };
      return { location, cookie: sealPendingLogin(store.secrets, pending) };
    },
    finish: (providerId, parameters, browser) =>
      withAudit(providerId, browser.address, async () => {
        const { row, redirect } = requireRedirect(providerId);
        const pending = requirePendingLogin(browser, providerId);
        return startSession(row, await redirect.finish(parameters, pending.kept), pending.to, browser);
      }),
    acceptPost: (providerId, parameters, address) =>
      withAudit(providerId, address, async () => {
        const { redirect } = requireRedirect(providerId);
        if (redirect.isUnsolicited?.(parameters)) return { ticket: null };
        const vouched = await redirect.finish(parameters, {});
        const ticket = randomBytes(32).toString("base64url");
        const value = store.secrets.seal(JSON.stringify({ vouched, relay: parameters.RelayState ?? "", providerId }));
        const now = clock.now();
        await putIfAbsent(store, { key: ticketKey(ticket), value, until: now + TICKET_LIFETIME_MS, now });
        return { ticket };
      }),
    redeemTicket: (providerId, ticket, browser) =>
      withAudit(providerId, browser.address, async () => {
        const { row } = requireRedirect(providerId);
        const pending = requirePendingLogin(browser, providerId);
        const sealed = await consumeValue(store, ticketKey(ticket), clock.now());
        if (sealed === null)
          throw new LoginError("stale", sentence("login.the-ticket-was-already-used-or-has-expired"));
        const { vouched, relay, providerId: from } = JSON.parse(store.secrets.open(sealed)) as TicketValue;
        if (relay !== pending.relay || from !== providerId)
          throw new LoginError("stale", sentence("login.the-login-was-started-in-another-browser"));
        return startSession(row, vouched, pending.to, browser);
      }),
    async acceptLogoutToken(providerId, token, address) {
      const { row, redirect } = requireRedirect(providerId);
      if (!redirect.readLogoutToken) throw new LoginError("off", sentence("login.no-logout-tokens"));
      await endSessions(row, address, () => redirect.readLogoutToken?.(token));
    },
    async acceptLogoutRequest(providerId, message, address) {
      const { row, redirect } = requireRedirect(providerId);
      if (!redirect.readLogoutRequest) throw new LoginError("off", sentence("login.no-logout-tokens"));
      const notice = await endSessions(row, address, () => redirect.readLogoutRequest?.(message));
      return notice?.location ?? "/";
    },
    async buildLogoutUrl(providerId, logoutCookie) {
      const { redirect } = requireRedirect(providerId);
      const state = openPendingLogout(providerId, logoutCookie);
      return (await redirect.buildLogoutUrl(`${baseUrl()}/`, state)) ?? "/";
    },
    async metadata(providerId) {
      const xml = await requireRedirect(providerId).redirect.metadata();
      if (xml === null)
        throw new LoginError("off", sentence("login.the-identity-provider-does-not-use-service-provider-metadata"));
      return xml;
    },
  };
}

interface TicketValue {
  vouched: ExternalIdentity;
  relay: string;
  providerId: string;
}

/** Key of the user whose session a provider names so. */
function sessionKey(providerId: string, key: string): string {
  return `session ${providerId} ${hash("sha256", key, "hex")}`;
}

function ticketKey(ticket: string): string {
  return `ticket ${hash("sha256", ticket, "hex")}`;
}
