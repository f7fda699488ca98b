import type { HttpResponse } from "../lib/http-response.ts";
import { fillPlaceholders } from "./authorize-messages.ts";
import type { CampaignMessages } from "./campaign-messages.ts";
import { html, type Markup, rawHtml, renderHtmlPage } from "./html-page.ts";

interface PageMessages {
  language: string;
}

/** Values of the enrolment form. */
export interface JoinFormValues {
  name: string;
  email: string;
  phone: string;
}

/** Enrolment form of a list; `notice` is the error of the last attempt. */
export function renderJoinPage(
  messages: CampaignMessages,
  list: string,
  { typed, status = 200, notice = null }: { typed: JoinFormValues; status?: number; notice?: string | null },
): HttpResponse {
  const field = (name: keyof JoinFormValues, type: string, autocomplete: string): Markup =>
    html`<label for="${name}">${messages[name]}</label><input id="${name}" name="${name}" type="${type}" value="${typed[name]}" autocomplete="${autocomplete}"${rawHtml(name === "name" ? "" : ' aria-describedby="hint"')}>`;
  const title = fillPlaceholders(messages.joinTitle, { list });
  const alert = notice === null ? rawHtml("") : html`<p role="alert">${notice}</p>`;
  return renderPage(
    messages,
    status,
    title,
    html`<p>${fillPlaceholders(messages.joinText, { list })}</p>${alert}<form method="post">${field("name", "text", "name")}${field("email", "email", "email")}${field("phone", "tel", "tel")}<small id="hint">${messages.hint}</small><button>${messages.join}</button></form>`,
  );
}

/** Form for the code of a text message, sent to `action`; `notice` is the error of the last attempt. */
export function renderCodePage(
  messages: CampaignMessages,
  {
    action,
    phone,
    status = 200,
    notice = null,
  }: { action: string; phone: string; status?: number; notice?: string | null },
): HttpResponse {
  const alert = notice === null ? rawHtml("") : html`<p role="alert">${notice}</p>`;
  return renderPage(
    messages,
    status,
    messages.codeTitle,
    html`<p>${fillPlaceholders(messages.codeText, { phone })}</p>${alert}<form method="post" action="${action}"><label for="code">${messages.code}</label><input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" required><button>${messages.confirm}</button></form>`,
  );
}

/** Confirmation form for unsubscribing. */
export function renderLeavePage(messages: CampaignMessages, list: string): HttpResponse {
  return renderConfirmPage(
    messages,
    fillPlaceholders(messages.leaveTitle, { list }),
    messages.leaveText,
    messages.leave,
  );
}

/** A confirmation form. A GET must not confirm, because link scanners open links. */
export function renderConfirmPage(messages: PageMessages, title: string, text: string, press: string): HttpResponse {
  return renderPage(messages, 200, title, html`<p>${text}</p><form method="post"><button>${press}</button></form>`);
}

/** A page with one message. */
export function renderMessagePage(messages: PageMessages, title: string, text: string, status = 200): HttpResponse {
  return renderPage(messages, status, title, html`<p role="${status < 400 ? "status" : "alert"}">${text}</p>`);
}

function renderPage({ language }: PageMessages, status: number, title: string, content: Markup): HttpResponse {
  const full = html`<h1>${title}</h1>${content}`;
  return renderHtmlPage({ language, status, title, content: full, formTargets: "'self'", vary: "Accept-Language" });
}
