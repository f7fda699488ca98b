import { hash, randomBytes } from "node:crypto";
import type { IdentityProviderRow } from "../auth/identity-providers.ts";
import type { LoginService } from "../auth/login.ts";
import type { Log } from "../lib/log.ts";
import users from "../resources/people/users.ts";
import type { ActorContext } from "../store/store.ts";
import { LoginError } from "./login-error.ts";
import { consumeValue, putIfAbsent } from "./login-state-store.ts";
import { openPendingLogin, type PendingLogin, sanitizeReturnPath, sealPendingLogin } from "./pending-login.ts";
import type { CallbackParameters, ExternalIdentity, ProviderDeps, RedirectLogin } from "./provider.ts";
import type { IdentityProviders } from "./providers.ts";

/** How long a browser may take from what a provider posted to the page that follows. own choice */
const TICKET_LIFETIME_MS = 60_000;

/** A session that was begun, and where the browser goes on. */
export interface LoginSession {
  /** Value of the session's cookie. */
  session: string;
  /** Path of this appliance. */
  returnPath: string;
}

/** What a browser brings along. */
export interface BrowserContext {
  /** The cookie that `begin` gave it. */
  cookie: string | null;
  /** Its network address. */
  address: string | null;
}

/** Log-in by way of another site's pages. All but `begin` may throw TooManyRequestsError; all throw LoginError. */
export interface RedirectLoginService {
  /** Where the browser goes to log in, and the cookie by which it is known when it comes back. */
  begin(providerId: string, to: string | null): Promise<{ location: string; cookie: string }>;
  /** Takes what the browser brings back in its address. */
  finish(providerId: string, brought: CallbackParameters, coming: BrowserContext): Promise<LoginSession>;
  /**
   * Takes what the provider's page posted, with which browsers send no cookie: who it is stays here until the browser
   * comes with the ticket, which is good once.
   */
  acceptPost(providerId: string, brought: CallbackParameters, address: string | null): Promise<{ ticket: string }>;
  /** Takes the ticket. */
  redeemTicket(providerId: string, ticket: string, coming: BrowserContext): Promise<LoginSession>;
  /** Where whoever logged out here logs out there, and then comes back; the console's page where there is no such place. */
  buildLogoutUrl(providerId: string): Promise<string>;
  /** What describes this appliance to the provider, as XML. */
  metadata(providerId: string): Promise<string>;
}

/** What log-in is made of. */
export interface RedirectLoginDeps extends ProviderDeps {
  providers: IdentityProviders;
  loginService: Pick<LoginService, "loginVerifiedUser" | "registerAttempt">;
  log: Log;
  by: ActorContext;
}

/** Makes the log-in by way of other sites' pages. */
export function createRedirectLoginService(deps: RedirectLoginDeps): RedirectLoginService {
  const { store, clock, providers, loginService, log, by, baseUrl } = deps;

  function requireRedirect(providerId: string): { row: IdentityProviderRow; redirect: RedirectLogin } {
    const { row, provider } = providers.requireEnabled(providerId);
    if (!provider.redirect) throw new LoginError("off", "That provider has no pages of its own.");
    return { row, redirect: provider.redirect };
  }

  /** Refused log-ins stand in the audit, but for those that anybody could cause without a provider. */
  async function withAudit<T>(providerId: string, address: string | null, work: () => Promise<T>): Promise<T> {
    const takeBack = loginService.registerAttempt(address);
    try {
      const done = await work();
      takeBack();
      return done;
    } catch (error) {
      if (!(error instanceof LoginError)) throw error;
      const { code, userId } = error;
      log.warn({ providerId, reason: code, words: error.message }, "a log-in by a provider was refused");
      if (code === "down") takeBack();
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
    const begun = openPendingLogin(store.secrets, cookie, clock.now());
    if (begun?.providerId === providerId) return begun;
    throw new LoginError("stale", "The log-in was not begun in this browser, or too long ago.");
  }

  async function startSession(
    row: IdentityProviderRow,
    vouched: ExternalIdentity,
    returnPath: string,
    { address }: BrowserContext,
  ): Promise<LoginSession> {
    const { id } = await providers.provisionAccount(row, vouched);
    return { session: await loginService.loginVerifiedUser(id, address), returnPath };
  }

  return {
    async begin(providerId, to) {
      const { redirect } = requireRedirect(providerId);
      const relay = randomBytes(24).toString("base64url");
      const { location, kept } = await redirect.begin(relay);
      const begun = { providerId, relay, to: sanitizeReturnPath(to), kept, at: clock.now() };
      return { location, cookie: sealPendingLogin(store.secrets, begun) };
    },
    finish: (providerId, brought, coming) =>
      withAudit(providerId, coming.address, async () => {
        const { row, redirect } = requireRedirect(providerId);
        const begun = requirePendingLogin(coming, providerId);
        return startSession(row, await redirect.finish(brought, begun.kept), begun.to, coming);
      }),
    acceptPost: (providerId, brought, address) =>
      withAudit(providerId, address, async () => {
        const { redirect } = requireRedirect(providerId);
        const vouched = await redirect.finish(brought, {});
        const ticket = randomBytes(32).toString("base64url");
        const value = store.secrets.seal(JSON.stringify({ vouched, relay: brought.RelayState ?? "", providerId }));
        const now = clock.now();
        await putIfAbsent(store, { key: ticketKey(ticket), value, until: now + TICKET_LIFETIME_MS, now });
        return { ticket };
      }),
    redeemTicket: (providerId, ticket, coming) =>
      withAudit(providerId, coming.address, async () => {
        const { row } = requireRedirect(providerId);
        const begun = requirePendingLogin(coming, providerId);
        const sealed = await consumeValue(store, ticketKey(ticket), clock.now());
        if (sealed === null) throw new LoginError("stale", "The ticket was used, or is too old.");
        const { vouched, relay, providerId: from } = JSON.parse(store.secrets.open(sealed)) as TicketValue;
        if (relay !== begun.relay || from !== providerId) throw new LoginError("stale", "Another browser began it.");
        return startSession(row, vouched, begun.to, coming);
      }),
    async buildLogoutUrl(providerId) {
      const { redirect } = requireRedirect(providerId);
      return (await redirect.buildLogoutUrl(`${baseUrl()}/`)) ?? "/";
    },
    async metadata(providerId) {
      const xml = await requireRedirect(providerId).redirect.metadata();
      if (xml === null) throw new LoginError("off", "Nothing describes this appliance to that provider.");
      return xml;
    },
  };
}

interface TicketValue {
  vouched: ExternalIdentity;
  relay: string;
  providerId: string;
}

function ticketKey(ticket: string): string {
  return `ticket ${hash("sha256", ticket, "hex")}`;
}
