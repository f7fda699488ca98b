import { LOGIN_TICKET_MS } from "./login-tickets.ts";

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

const TICKET_NAMES = { secure: "__Host-carillon-login", plain: "carillon-login" } as const;

/**
 * Builds the Set-Cookie value of the ticket of a log-in that needs a second factor, see `login-tickets.ts`; null deletes
 * the cookie. No script sees the ticket, and it is bound to the browser that sent the password.
 */
export function buildTicketCookie(ticket: string | null, secure: boolean): string {
  const name = secure ? TICKET_NAMES.secure : TICKET_NAMES.plain;
  const seconds = ticket === null ? 0 : LOGIN_TICKET_MS / 1_000;
  const attributes = `Path=/; HttpOnly; SameSite=Strict${secure ? "; Secure" : ""}; Max-Age=${seconds}`;
  return `${name}=${ticket ?? ""}; ${attributes}`;
}

/** Reads the cookie of a ticket; null if absent. */
export function readTicketCookie(header: string | null, secure: boolean): string | null {
  return readCookie(header, secure ? TICKET_NAMES.secure : TICKET_NAMES.plain);
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
