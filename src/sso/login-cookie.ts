const COOKIE_NAME = "carillon-log-in";
const LOGOUT_COOKIE_NAME = "carillon-log-out";
/** Path for which browsers send the cookie. */
const COOKIE_PATH = "/api/log-in";

/**
 * Builds the Set-Cookie value that identifies a browser when it returns from an identity provider; `value` null deletes
 * it. SameSite=Lax, unlike the session cookie: browsers must send it after a redirect from another site.
 * @source RFC 6265bis §5.6.7.1 (Lax)
 */
export function buildLoginCookie(value: string | null, secure: boolean, lastsMs: number): string {
  const seconds = value === null ? 0 : Math.floor(lastsMs / 1_000);
  const flags = `Path=${COOKIE_PATH}; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`;
  return `${COOKIE_NAME}=${value ?? ""}; ${flags}; Max-Age=${seconds}`;
}

/** Reads the value from a Cookie header; null if absent. */
export function readLoginCookie(cookies: string | null): string | null {
  return readCookie(cookies, COOKIE_NAME);
}

/** As `buildLoginCookie`, for what a logout at the provider needs; it lasts as long as a session may. */
export function buildLogoutCookie(value: string | null, secure: boolean, lastsMs: number): string {
  return buildLoginCookie(value, secure, lastsMs).replace(COOKIE_NAME, LOGOUT_COOKIE_NAME);
}

/** Reads the value from a Cookie header; null if absent. */
export function readLogoutCookie(cookies: string | null): string | null {
  return readCookie(cookies, LOGOUT_COOKIE_NAME);
}

function readCookie(cookies: string | null, name: string): string | null {
  const found = cookies?.split(";").find((each) => each.trim().startsWith(`${name}=`));
  return found?.trim().slice(name.length + 1) || null;
}
