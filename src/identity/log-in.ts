import { hash, randomBytes } from "node:crypto";
import type { ProviderRow } from "../access/identity-providers.ts";
import type { SignIn } from "../access/sign-in.ts";
import type { Log } from "../base/log.ts";
import users from "../resources/people/users.ts";
import type { By } from "../store/store.ts";
import { type Begun, openBegun, pathWithin, sealBegun } from "./kept-log-in.ts";
import { LogInFault } from "./log-in-fault.ts";
import type { Brought, ProviderNeeds, RedirectLogIn, Vouched } from "./provider.ts";
import type { Providers } from "./providers.ts";
import { keepUntil, takeKept } from "./seen.ts";

/** How long a browser may take from what a provider posted to the page that follows. own choice */
const TICKET_MS = 60_000;

/** A session that was begun, and where the browser goes on. */
export interface LoggedIn {
  /** Value of the session's cookie. */
  session: string;
  /** Path of this appliance. */
  to: string;
}

/** What a browser brings along. */
export interface Coming {
  /** The cookie that `begin` gave it. */
  cookie: string | null;
  /** Its network address. */
  address: string | null;
}

/** Log-in by way of another site's pages. All but `begin` may throw TooManyRequests; all throw LogInFault. */
export interface ProviderLogIn {
  /** Where the browser goes to log in, and the cookie by which it is known when it comes back. */
  begin(providerId: string, to: string | null): Promise<{ location: string; cookie: string }>;
  /** Takes what the browser brings back in its address. */
  finish(providerId: string, brought: Brought, coming: Coming): Promise<LoggedIn>;
  /**
   * Takes what the provider's page posted, with which browsers send no cookie: who it is stays here until the browser
   * comes with the ticket, which is good once.
   */
  take(providerId: string, brought: Brought, address: string | null): Promise<{ ticket: string }>;
  /** Takes the ticket. */
  complete(providerId: string, ticket: string, coming: Coming): Promise<LoggedIn>;
  /** Where whoever logged out here logs out there, and then comes back; the console's page where there is no such place. */
  logOut(providerId: string): Promise<string>;
  /** What describes this appliance to the provider, as XML. */
  metadata(providerId: string): Promise<string>;
}

/** What log-in is made of. */
export interface LogInNeeds extends ProviderNeeds {
  providers: Providers;
  signIn: Pick<SignIn, "asUser" | "attemptFrom">;
  log: Log;
  by: By;
}

/** Makes the log-in by way of other sites' pages. */
export function createProviderLogIn(needs: LogInNeeds): ProviderLogIn {
  const { store, clock, providers, signIn, log, by, baseUrl } = needs;

  function redirectOf(providerId: string): { row: ProviderRow; redirect: RedirectLogIn } {
    const { row, provider } = providers.enabled(providerId);
    if (!provider.redirect) throw new LogInFault("off", "That provider has no pages of its own.");
    return { row, redirect: provider.redirect };
  }

  /** Refused log-ins stand in the audit, but for those that anybody could cause without a provider. */
  async function noting<T>(providerId: string, address: string | null, work: () => Promise<T>): Promise<T> {
    const takeBack = signIn.attemptFrom(address);
    try {
      const done = await work();
      takeBack();
      return done;
    } catch (error) {
      if (!(error instanceof LogInFault)) throw error;
      const { code, userId } = error;
      log.warn({ providerId, reason: code, words: error.message }, "a log-in by a provider was refused");
      if (code === "down") takeBack();
      if (code === "stale" || code === "off") throw error;
      const name = (userId && store.get(users, userId)?.name) || "unknown account";
      const actor = { kind: "user", userId, name, address } as const;
      const details = { identityProviderId: providerId, reason: code };
      await store.write((tx) =>
        tx.note({ op: "log-in-refused", resource: users.name, rowId: userId, details }, { ...by, actor }),
      );
      throw error;
    }
  }

  function begunIn({ cookie }: Coming, providerId: string): Begun {
    const begun = openBegun(store.secrets, cookie, clock.now());
    if (begun?.providerId === providerId) return begun;
    throw new LogInFault("stale", "The log-in was not begun in this browser, or too long ago.");
  }

  async function enter(row: ProviderRow, vouched: Vouched, to: string, { address }: Coming): Promise<LoggedIn> {
    const { id } = await providers.account(row, vouched);
    return { session: await signIn.asUser(id, address), to };
  }

  return {
    async begin(providerId, to) {
      const { redirect } = redirectOf(providerId);
      const relay = randomBytes(24).toString("base64url");
      const { location, kept } = await redirect.begin(relay);
      const begun = { providerId, relay, to: pathWithin(to), kept, at: clock.now() };
      return { location, cookie: sealBegun(store.secrets, begun) };
    },
    finish: (providerId, brought, coming) =>
      noting(providerId, coming.address, async () => {
        const { row, redirect } = redirectOf(providerId);
        const begun = begunIn(coming, providerId);
        return enter(row, await redirect.finish(brought, begun.kept), begun.to, coming);
      }),
    take: (providerId, brought, address) =>
      noting(providerId, address, async () => {
        const { redirect } = redirectOf(providerId);
        const vouched = await redirect.finish(brought, {});
        const ticket = randomBytes(32).toString("base64url");
        const value = store.secrets.seal(JSON.stringify({ vouched, relay: brought.RelayState ?? "", providerId }));
        const now = clock.now();
        await keepUntil(store, { key: keyOf(ticket), value, until: now + TICKET_MS, now });
        return { ticket };
      }),
    complete: (providerId, ticket, coming) =>
      noting(providerId, coming.address, async () => {
        const { row } = redirectOf(providerId);
        const begun = begunIn(coming, providerId);
        const sealed = await takeKept(store, keyOf(ticket), clock.now());
        if (sealed === null) throw new LogInFault("stale", "The ticket was used, or is too old.");
        const { vouched, relay, providerId: from } = JSON.parse(store.secrets.open(sealed)) as TicketValue;
        if (relay !== begun.relay || from !== providerId) throw new LogInFault("stale", "Another browser began it.");
        return enter(row, vouched, begun.to, coming);
      }),
    async logOut(providerId) {
      const { redirect } = redirectOf(providerId);
      return (await redirect.logOut(`${baseUrl()}/`)) ?? "/";
    },
    async metadata(providerId) {
      const xml = await redirectOf(providerId).redirect.metadata();
      if (xml === null) throw new LogInFault("off", "Nothing describes this appliance to that provider.");
      return xml;
    },
  };
}

interface TicketValue {
  vouched: Vouched;
  relay: string;
  providerId: string;
}

function keyOf(ticket: string): string {
  return `ticket ${hash("sha256", ticket, "hex")}`;
}
