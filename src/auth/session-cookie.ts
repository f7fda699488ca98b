/**
 * With TLS, the `__Host-` prefix makes browsers refuse a cookie of this name set by another host or path. @source RFC
 * 6265bis §4.1.3.2
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

/** Reads the session token from a Cookie header; null if absent. */
export function readSessionCookie(header: string | null, secure: boolean): string | null {
  const name = `${secure ? NAMES.secure : NAMES.plain}=`;
  const pair = header?.split(";").find((each) => each.trim().startsWith(name));
  const token = pair?.trim().slice(name.length);
  return token === undefined || token === "" ? null : token;
}
