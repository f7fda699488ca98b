import type { Branding } from "../access/branding.ts";
import { CallerError, TooManyRequests } from "../base/errors.ts";
import { LogInFault, type LogInFaultCode } from "../identity/log-in-fault.ts";
import type { Answer } from "./action.ts";
import { filled } from "./authorize-words.ts";
import { brandedParts } from "./branded-page.ts";
import type { LogInWords } from "./log-in-words.ts";
import { html, type Markup, plainPage } from "./plain-page.ts";

const STATUSES: Readonly<Partial<Record<LogInFaultCode, number>>> = {
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
export function onwardPage(words: LogInWords, branding: Branding, to: string): Answer {
  const content = html`<h1>${words.goingOn}</h1><p><a href="${to}">${words.goOn}</a></p>`;
  const page = answer(words, branding, 200, words.goingOn, content);
  return { ...page, headers: { ...page.headers, Refresh: `0; url=${to}` } };
}

/** Says why somebody was not let in, and what to do. Throws an error that is not about that. */
export function refusedLogInPage(words: LogInWords, branding: Branding, error: unknown): Answer {
  const isSlow = error instanceof TooManyRequests;
  if (!isSlow && !(error instanceof CallerError && error.type === "unauthorized")) throw error;
  // Sign-in says no in one way; after a provider's yes it is the lock.
  const code = error instanceof LogInFault ? error.code : "locked";
  const reason = isSlow ? filled(words.wait, { seconds: String(error.retryAfterS) }) : words.faults[code];
  const content = html`<h1>${words.refused}</h1><p role="alert">${reason}</p><p><a href="/">${words.again}</a></p>`;
  const page = answer(words, branding, isSlow ? 429 : (STATUSES[code] ?? 400), words.refused, content);
  return isSlow ? { ...page, headers: { ...page.headers, "Retry-After": String(error.retryAfterS) } } : page;
}

function answer(words: LogInWords, branding: Branding, status: number, title: string, content: Markup): Answer {
  const { language } = words;
  const vary = "Accept-Language, Cookie";
  return plainPage({ language, status, title, content, formTargets: "'none'", vary, ...brandedParts(branding) });
}
