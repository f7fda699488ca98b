/** Under TLS the prefix makes browsers refuse a cookie of this name from any other place. @source RFC 6265bis §4.1.3.2 */
const NAMES = { secure: "__Host-carillon", plain: "carillon" } as const;

/**
 * The Set-Cookie value that gives a session to a browser, or takes it away when `token` is null. No script reads it and
 * no request that another site causes carries it. It goes when the browser is closed, or after `lastsMs`.
 */
export function buildSessionCookie(token: string | null, secure: boolean, lastsMs?: number): string {
  const name = secure ? NAMES.secure : NAMES.plain;
  const seconds = token === null ? 0 : lastsMs === undefined ? null : Math.floor(lastsMs / 1_000);
  const end = seconds === null ? "" : `; Max-Age=${seconds}`;
  return `${name}=${token ?? ""}; Path=/; HttpOnly; SameSite=Strict${secure ? "; Secure" : ""}${end}`;
}

/** The session's token in a Cookie header; null without. */
export function readSessionCookie(header: string | null, secure: boolean): string | null {
  const name = `${secure ? NAMES.secure : NAMES.plain}=`;
  const pair = header?.split(";").find((each) => each.trim().startsWith(name));
  const token = pair?.trim().slice(name.length);
  return token === undefined || token === "" ? null : token;
}
