import type { AskedByLink } from "../broadcast/answer-links.ts";
import type { Answer } from "./action.ts";
import type { AnswerWords } from "./answer-words.ts";
import { filled } from "./authorize-words.ts";
import { html, type Markup, plainPage, raw } from "./plain-page.ts";

/**
 * The message with a button for each answer. Opening it answers nothing: programs that only look at links must not answer
 * for anybody. `isNew` says that the answer shown was given just now.
 */
export function answerPage(words: AnswerWords, asked: AskedByLink, isNew: boolean): Answer {
  const { subject, body, drill, options, given, reply } = asked;
  const told = reply === null ? raw("") : html`<p><strong>${reply}</strong></p>`;
  const state =
    given === null
      ? raw("")
      : html`<p role="status">${filled(isNew ? words.thanks : words.given, { option: given })}</p>${told}<small>${words.changeable}</small>`;
  const exercise = drill ? html`<p><strong>${words.drill}</strong></p>` : raw("");
  const buttons = options.map(
    (option) =>
      html`<button name="option" value="${option}"${raw(option === given ? "" : ' class="plain"')}>${option}</button>`,
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
export function noAnswerPage(words: AnswerWords, status: number): Answer {
  const isOver = status === 409;
  const text = isOver ? words.overText : words.refusedText;
  return page(words, status, isOver ? words.overTitle : words.refusedTitle, html`<p role="alert">${text}</p>`);
}

function page({ language }: AnswerWords, status: number, title: string, content: Markup): Answer {
  const full = html`<h1>${title}</h1>${content}`;
  return plainPage({ language, status, title, content: full, formTargets: "'self'", vary: "Accept-Language" });
}
