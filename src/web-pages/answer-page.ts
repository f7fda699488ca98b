import type { HttpResponse } from "../lib/http-response.ts";
import type { LinkedQuestion } from "../notifications/responses/answer-links.ts";
import type { AnswerMessages } from "./answer-messages.ts";
import { fillPlaceholders } from "./authorize-messages.ts";
import { html, type Markup, rawHtml, renderHtmlPage } from "./html-page.ts";

/**
 * The message with a button for each answer. Opening it answers nothing: programs that only look at links must not answer
 * for anybody. `isNew` says that the answer shown was given just now.
 */
export function renderAnswerPage(words: AnswerMessages, asked: LinkedQuestion, isNew: boolean): HttpResponse {
  const { subject, body, drill, options, given, reply } = asked;
  const told = reply === null ? rawHtml("") : html`<p><strong>${reply}</strong></p>`;
  const state =
    given === null
      ? rawHtml("")
      : html`<p role="status">${fillPlaceholders(isNew ? words.thanks : words.given, { option: given })}</p>${told}<small>${words.changeable}</small>`;
  const exercise = drill ? html`<p><strong>${words.drill}</strong></p>` : rawHtml("");
  const buttons = options.map(
    (option) =>
      html`<button name="option" value="${option}"${rawHtml(option === given ? "" : ' class="plain"')}>${option}</button>`,
  );
  const lines = body.split("\n").map((line) => html`${line}<br>`);
  return page(
    words,
    200,
    subject,
    html`${exercise}<p>${lines}</p>${state}<form method="post" aria-label="${words.choose}">${buttons}</form>`,
  );
}

/** Says why there is nothing to answer. */
export function renderAnswerErrorPage(words: AnswerMessages, status: number): HttpResponse {
  const isOver = status === 409;
  const text = isOver ? words.overText : words.refusedText;
  return page(words, status, isOver ? words.overTitle : words.refusedTitle, html`<p role="alert">${text}</p>`);
}

function page({ language }: AnswerMessages, status: number, title: string, content: Markup): HttpResponse {
  const full = html`<h1>${title}</h1>${content}`;
  return renderHtmlPage({ language, status, title, content: full, formTargets: "'self'", vary: "Accept-Language" });
}
