import type { HttpResponse } from "../lib/http-response.ts";
import { fillPlaceholders } from "./authorize-messages.ts";
import type { CampaignMessages } from "./campaign-messages.ts";
import { html, type Markup, rawHtml, renderHtmlPage } from "./html-page.ts";

/** What every page has to know of its words. */
type PageMessages = Pick<CampaignMessages, "language">;

/** What somebody typed into the form. */
export interface JoinFormValues {
  name: string;
  email: string;
  phone: string;
}

/** The form to join a list; `notice` says what was wrong with the last try. */
export function renderJoinPage(
  words: CampaignMessages,
  list: string,
  { typed, status = 200, notice = null }: { typed: JoinFormValues; status?: number; notice?: string | null },
): HttpResponse {
  const field = (name: keyof JoinFormValues, type: string, completes: string): Markup =>
    html`<label for="${name}">${words[name]}</label><input id="${name}" name="${name}" type="${type}" value="${typed[name]}" autocomplete="${completes}"${rawHtml(name === "name" ? "" : ' aria-describedby="hint"')}>`;
  const title = fillPlaceholders(words.joinTitle, { list });
  const alert = notice === null ? rawHtml("") : html`<p role="alert">${notice}</p>`;
  return renderPage(
    words,
    status,
    title,
    html`<p>${fillPlaceholders(words.joinText, { list })}</p>${alert}<form method="post">${field("name", "text", "name")}${field("email", "email", "email")}${field("phone", "tel", "tel")}<small id="hint">${words.hint}</small><button>${words.join}</button></form>`,
  );
}

/** Asks whether to leave a list. */
export function renderLeavePage(words: CampaignMessages, list: string): HttpResponse {
  return renderConfirmPage(words, fillPlaceholders(words.leaveTitle, { list }), words.leaveText, words.leave);
}

/** Asks one thing, which only a press on the button does: programs that only look at links must not do it for anybody. */
export function renderConfirmPage(words: PageMessages, title: string, text: string, press: string): HttpResponse {
  return renderPage(words, 200, title, html`<p>${text}</p><form method="post"><button>${press}</button></form>`);
}

/** Says one thing. */
export function renderMessagePage(words: PageMessages, title: string, text: string, status = 200): HttpResponse {
  return renderPage(words, status, title, html`<p role="${status < 400 ? "status" : "alert"}">${text}</p>`);
}

function renderPage({ language }: PageMessages, status: number, title: string, content: Markup): HttpResponse {
  const full = html`<h1>${title}</h1>${content}`;
  return renderHtmlPage({ language, status, title, content: full, formTargets: "'self'", vary: "Accept-Language" });
}
