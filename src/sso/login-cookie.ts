const COOKIE_NAME = "carillon-log-in";
/** What of this appliance gets it. */
const COOKIE_PATH = "/api/log-in";

/**
 * The Set-Cookie value that lets a browser be known when it comes back from an identity provider, or takes that away when
 * `value` is null. Unlike a session's it must come along when another site leads here.
 * @source RFC 6265bis §5.6.7.1 (Lax)
 */
export function buildLoginCookie(value: string | null, secure: boolean, lastsMs: number): string {
  const seconds = value === null ? 0 : Math.floor(lastsMs / 1_000);
  const flags = `Path=${COOKIE_PATH}; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`;
  return `${COOKIE_NAME}=${value ?? ""}; ${flags}; Max-Age=${seconds}`;
}

/** Its value in a Cookie header; null without. */
export function readLoginCookie(cookies: string | null): string | null {
  const found = cookies?.split(";").find((each) => each.trim().startsWith(`${COOKIE_NAME}=`));
  return found?.trim().slice(COOKIE_NAME.length + 1) || null;
}
