/**
 * With TLS, the `__Host-` prefix makes browsers refuse a cookie of this name set by another host or path.
 * @source RFC 6265bis §4.1.3.2
 */
const NAMES = { secure: "__Host-carillon", plain: "carillon" } as const;

/**
 * Builds the Set-Cookie value of a session; `token` null deletes the cookie. HttpOnly hides it from scripts,
 * SameSite=Strict prevents CSRF by cross-site requests. It lasts until the browser closes, or for `lastsMs`.
 */
export function buildSessionCookie(token: string | null, secure: boolean, lastsMs?: number): string {
  const name = secure ? NAMES.secure : NAMES.plain;
  const seconds = token === null ? 0 : lastsMs === undefined ? null : Math.floor(lastsMs / 1_000);
  const end = seconds === null ? "" : `; Max-Age=${seconds}`;
  return `${name}=${token ?? ""}; Path=/; HttpOnly; SameSite=Strict${secure ? "; Secure" : ""}${end}`;
}

/** A browser is known for a year. */
const KNOWN_BROWSER_S = 31_536_000;
const BROWSER_NAMES = { secure: "__Host-carillon-browser", plain: "carillon-browser" } as const;

/** Builds the Set-Cookie value of a known browser, see `known-browsers.ts`. */
export function buildBrowserCookie(value: string, secure: boolean): string {
  const name = secure ? BROWSER_NAMES.secure : BROWSER_NAMES.plain;
  return `${name}=${value}; Path=/; HttpOnly; SameSite=Strict${secure ? "; Secure" : ""}; Max-Age=${KNOWN_BROWSER_S}`;
}

/** Reads the cookie of a known browser; null if absent. */
export function readBrowserCookie(header: string | null, secure: boolean): string | null {
  return readCookie(header, secure ? BROWSER_NAMES.secure : BROWSER_NAMES.plain);
}

/** Reads the session token from a Cookie header; null if absent. */
export function readSessionCookie(header: string | null, secure: boolean): string | null {
  return readCookie(header, secure ? NAMES.secure : NAMES.plain);
}

function readCookie(header: string | null, name: string): string | null {
  const pair = header?.split(";").find((each) => each.trim().startsWith(`${name}=`));
  const value = pair?.trim().slice(name.length + 1);
  return value === undefined || value === "" ? null : value;
}
