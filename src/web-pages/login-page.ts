import type { Branding } from "../auth/branding.ts";
import { CallerError, TooManyRequestsError } from "../lib/errors.ts";
import type { HttpResponse } from "../lib/http-response.ts";
import { LoginError, type LoginErrorCode } from "../sso/login-error.ts";
import { fillPlaceholders } from "./authorize-messages.ts";
import { html, type Markup, renderHtmlPage } from "./html-page.ts";
import type { LoginMessages } from "./login-messages.ts";
import { pageBranding } from "./page-branding.ts";

const STATUSES: Readonly<Partial<Record<LoginErrorCode, number>>> = {
  down: 502,
  denied: 403,
  "no-account": 403,
  locked: 403,
  off: 404,
};

/**
 * Leads a browser on by a page of our own: what follows then comes from here, so that it carries the session's cookie,
 * which browsers keep back where another site leads.
 */
export function renderContinuePage(words: LoginMessages, branding: Branding, to: string): HttpResponse {
  const content = html`<h1>${words.goingOn}</h1><p><a href="${to}">${words.goOn}</a></p>`;
  const page = renderPage(words, branding, 200, words.goingOn, content);
  return { ...page, headers: { ...page.headers, Refresh: `0; url=${to}` } };
}

/** Says why somebody was not let in, and what to do. Throws an error that is not about that. */
export function renderLoginErrorPage(words: LoginMessages, branding: Branding, error: unknown): HttpResponse {
  const isSlow = error instanceof TooManyRequestsError;
  if (!isSlow && !(error instanceof CallerError && error.type === "unauthorized")) throw error;
  // Sign-in says no in one way; after a provider's yes it is the lock.
  const code = error instanceof LoginError ? error.code : "locked";
  const reason = isSlow ? fillPlaceholders(words.wait, { seconds: String(error.retryAfterS) }) : words.errors[code];
  const content = html`<h1>${words.refused}</h1><p role="alert">${reason}</p><p><a href="/">${words.again}</a></p>`;
  const page = renderPage(words, branding, isSlow ? 429 : (STATUSES[code] ?? 400), words.refused, content);
  return isSlow ? { ...page, headers: { ...page.headers, "Retry-After": String(error.retryAfterS) } } : page;
}

function renderPage(
  words: LoginMessages,
  branding: Branding,
  status: number,
  title: string,
  content: Markup,
): HttpResponse {
  const { language } = words;
  const vary = "Accept-Language, Cookie";
  return renderHtmlPage({ language, status, title, content, formTargets: "'none'", vary, ...pageBranding(branding) });
}
