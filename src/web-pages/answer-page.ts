import type { HttpResponse } from "../lib/http-response.ts";
import type { LinkedQuestion } from "../notifications/responses/answer-links.ts";
import type { AnswerMessages } from "./answer-messages.ts";
import { fillPlaceholders } from "./authorize-messages.ts";
import { html, type Markup, rawHtml, renderHtmlPage } from "./html-page.ts";

/**
 * The message with a button per answer. A GET never answers, because link scanners open links. `isNew` is true if the
 * answer was given by this request.
 */
export function renderAnswerPage(messages: AnswerMessages, question: LinkedQuestion, isNew: boolean): HttpResponse {
  const { subject, body, drill, options, given, reply } = question;
  const replyMarkup = reply === null ? rawHtml("") : html`<p><strong>${reply}</strong></p>`;
  const state =
    given === null
      ? rawHtml("")
      : html`<p role="status">${fillPlaceholders(isNew ? messages.thanks : messages.given, { option: given })}</p>${replyMarkup}<small>${messages.changeable}</small>`;
  const drillNotice = drill ? html`<p><strong>${messages.drill}</strong></p>` : rawHtml("");
  const buttons = options.map(
    (option) =>
      html`<button name="option" value="${option}"${rawHtml(option === given ? "" : ' class="plain"')}>${option}</button>`,
  );
  const lines = body.split("\n").map((line) => html`${line}<br>`);
  return page(
    messages,
    200,
    subject,
    html`${drillNotice}<p>${lines}</p>${state}<form method="post" aria-label="${messages.choose}">${buttons}</form>`,
  );
}

/** Error page of an answer link. */
export function renderAnswerErrorPage(messages: AnswerMessages, status: number): HttpResponse {
  const isOver = status === 409;
  const text = isOver ? messages.overText : messages.refusedText;
  return page(messages, status, isOver ? messages.overTitle : messages.refusedTitle, html`<p role="alert">${text}</p>`);
}

function page({ language }: AnswerMessages, status: number, title: string, content: Markup): HttpResponse {
  const full = html`<h1>${title}</h1>${content}`;
  return renderHtmlPage({ language, status, title, content: full, formTargets: "'self'", vary: "Accept-Language" });
}
