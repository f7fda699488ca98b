import { findUserByEmail } from "../../auth/identity-providers.ts";
import { rememberAccount } from "../../auth/known-browsers.ts";
import type { LoginCredentials } from "../../auth/login.ts";
import { buildBrowserCookie, buildSessionCookie, readBrowserCookie } from "../../auth/session-cookie.ts";
import type { PublicRequest } from "../action.ts";

/** Logs in; returns the cookies of the session and of the browser, which is known from now on. Throws as the service. */
export async function logInWithPassword(
  account: LoginCredentials,
  { deps, address, secure, header }: Pick<PublicRequest, "deps" | "address" | "secure" | "header">,
): Promise<string[]> {
  const browser = readBrowserCookie(header("cookie"), secure);
  const session = buildSessionCookie(await deps.signIn.loginWithPassword(account, address, browser), secure);
  const user = findUserByEmail(deps.store, account.email);
  // A login name of a directory is no address: such a browser stays unknown.
  return user ? [session, buildBrowserCookie(rememberAccount(browser, user, deps.store), secure)] : [session];
}
