import { text } from "../../schema/field.ts";
import { type AnswerMessages, answerMessages } from "../../web-pages/answer-messages.ts";
import { renderAnswerErrorPage, renderAnswerPage } from "../../web-pages/answer-page.ts";
import type { Action, PublicRequest } from "../action.ts";
import { errorResponseOf } from "../error-response.ts";

const PAGE_ACTION = {
  response: { kind: "page" },
  errorResponse: { kind: "page" },
  outsideVersion: true,
  permission: "open",
  at: "answer/{token}",
  respondToError: errorPage,
} as const;

/**
 * Public page for answering a message by its link, without an account and without scripts. A GET only shows the
 * message; only the form submission answers, so that link scanners do not answer.
 */
export const answerActions: readonly Action[] = [
  {
    ...PAGE_ACTION,
    method: "get",
    doc: "Page for answering a message by its link, with a button per answer. Also served at `/answer/{token}`.",
    handle: async (request) => renderAnswer(request, false),
  },
  {
    ...PAGE_ACTION,
    method: "post",
    doc: "Records the selected answer; the last answer counts.",
    accepts: { option: text("The selected answer, exactly as shown.", { max: 140 }) },
    async handle(request) {
      const { option } = request.body;
      await request.deps.answerLinks.answer(request.params.token ?? "", typeof option === "string" ? option : "");
      return renderAnswer(request, true);
    },
  },
];

function renderAnswer(request: PublicRequest, isNew: boolean) {
  const question = request.deps.answerLinks.find(request.params.token ?? "");
  return question
    ? renderAnswerPage(messagesFor(request), question, isNew)
    : renderAnswerErrorPage(messagesFor(request), 404);
}

function errorPage(error: unknown, request: Omit<PublicRequest, "body">) {
  return renderAnswerErrorPage(messagesFor(request), errorResponseOf(error, request.requestId).status);
}

function messagesFor({ header }: Omit<PublicRequest, "body">): AnswerMessages {
  return answerMessages(header("accept-language"));
}
