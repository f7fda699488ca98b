import { findUserByEmail } from "../../auth/identity-providers.ts";
import { rememberAccount } from "../../auth/known-browsers.ts";
import type { LoginCredentials } from "../../auth/login.ts";
import type { PasskeyProof } from "../../auth/passkeys.ts";
import type { RelyingParty } from "../../auth/relying-party.ts";
import type { SecondFactorKind } from "../../auth/second-factors.ts";
import {
  buildBrowserCookie,
  buildSessionCookie,
  buildTicketCookie,
  readBrowserCookie,
  readTicketCookie,
} from "../../auth/session-cookie.ts";
import { CallerError } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import users from "../../resources/people/users.ts";
import type { PublicRequest } from "../action.ts";

type LoginRequest = Pick<PublicRequest, "deps" | "address" | "secure" | "header">;

/** Cookies of a log-in; with `secondFactors` there is no session yet, and `completeLogin` needs a code of one of them. */
export interface LoginCookies {
  cookies: string[];
  secondFactors: readonly SecondFactorKind[] | null;
}

/**
 * Logs in; returns the cookies of the session and of the browser, which is known from now on, or the cookie of a ticket.
 * Throws as the service.
 */
export async function logInWithPassword(account: LoginCredentials, request: LoginRequest): Promise<LoginCookies> {
  const { deps, address, secure, header } = request;
  const browser = readBrowserCookie(header("cookie"), secure);
  const login = await deps.signIn.loginWithPassword(account, address, browser);
  if ("ticket" in login) {
    return { cookies: [buildTicketCookie(login.ticket, secure)], secondFactors: login.secondFactors };
  }
  const session = buildSessionCookie(login.session, secure);
  const user = findUserByEmail(deps.store, account.email);
  // A login name of a directory is no address: such a browser stays unknown.
  const cookies = user ? [session, buildBrowserCookie(rememberAccount(browser, user, deps.store), secure)] : [session];
  return { cookies, secondFactors: null };
}

/** Completes the log-in of the browser's ticket; returns the cookies as `logInWithPassword`. Throws as the service. */
export async function completeLogin(proof: string | PasskeyProof, request: LoginRequest): Promise<string[]> {
  const { deps, address, secure, header } = request;
  const cookie = header("cookie");
  const browser = readBrowserCookie(cookie, secure);
  const ticket = readTicketCookie(cookie, secure) ?? "";
  const { session, userId } = await deps.signIn.completeLogin(ticket, proof, address, browser);
  const cookies = [buildSessionCookie(session, secure), buildTicketCookie(null, secure)];
  return withKnownBrowser(cookies, userId, request);
}

/** Logs in with a passkey alone; returns the cookies as `logInWithPassword`. Throws as the service. */
export async function logInWithPasskey(proof: PasskeyProof, request: LoginRequest): Promise<string[]> {
  const { deps, address, secure } = request;
  const { session, userId } = await deps.signIn.loginWithPasskey(proof, address);
  return withKnownBrowser([buildSessionCookie(session, secure)], userId, request);
}

/** Options for a passkey as the second factor of the browser's ticket. Throws `unauthorized`. */
export function passkeyOptionsOfTicket(party: RelyingParty, { deps, secure, header }: LoginRequest) {
  const userId = deps.signIn.userOfTicket(readTicketCookie(header("cookie"), secure) ?? "");
  if (userId === null)
    throw new CallerError("unauthorized", sentence("auth.the-log-in-has-expired-log-in-again-with-your"));
  return deps.signIn.passkeys.requestOptions({ act: "second-factor", userId }, party);
}

function withKnownBrowser(cookies: string[], userId: string, { deps, secure, header }: LoginRequest): string[] {
  const browser = readBrowserCookie(header("cookie"), secure);
  const user = deps.store.get(users, userId);
  return user ? [...cookies, buildBrowserCookie(rememberAccount(browser, user, deps.store), secure)] : cookies;
}
