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
 * The page on which a recipient answers a message without an account; it needs no scripts. own choice: the link of a mail
 * or text message shows the message and its answers, and only a press on one of them answers.
 */
export const answerActions: readonly Action[] = [
  {
    ...PAGE_ACTION,
    method: "get",
    doc: "The page that a message's link opens, with a button for each answer; it lies at `/answer/{token}` too.",
    handle: async (request) => renderAnswer(request, false),
  },
  {
    ...PAGE_ACTION,
    method: "post",
    doc: "Takes the answer that was pressed; the last one counts.",
    accepts: { option: text("The answer, word for word.", { max: 140 }) },
    async handle(request) {
      const { option } = request.body;
      await request.needs.answerLinks.answer(request.params.token ?? "", typeof option === "string" ? option : "");
      return renderAnswer(request, true);
    },
  },
];

function renderAnswer(request: PublicRequest, isNew: boolean) {
  const asked = request.needs.answerLinks.find(request.params.token ?? "");
  return asked
    ? renderAnswerPage(messagesFor(request), asked, isNew)
    : renderAnswerErrorPage(messagesFor(request), 404);
}

function errorPage(error: unknown, request: Omit<PublicRequest, "body">) {
  return renderAnswerErrorPage(messagesFor(request), errorResponseOf(error, request.requestId).status);
}

function messagesFor({ header }: Omit<PublicRequest, "body">): AnswerMessages {
  return answerMessages(header("accept-language"));
}
