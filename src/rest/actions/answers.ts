import { text } from "../../schema/field.ts";
import type { Action, OpenRequest } from "../action.ts";
import { answerPage, noAnswerPage } from "../answer-page.ts";
import { type AnswerWords, answerWords } from "../answer-words.ts";
import { answerOf } from "../error-answer.ts";

const PAGE = {
  answers: { kind: "page" },
  refuses: { kind: "page" },
  outsideVersion: true,
  permission: "open",
  at: "answer/{token}",
  refusal,
} as const;

/**
 * The page on which a recipient answers a message without an account; it needs no scripts. own choice: the link of a mail
 * or text message shows the message and its answers, and only a press on one of them answers.
 */
export const answerActions: readonly Action[] = [
  {
    ...PAGE,
    method: "get",
    doc: "The page that a message's link opens, with a button for each answer; it lies at `/answer/{token}` too.",
    handle: async (request) => show(request, false),
  },
  {
    ...PAGE,
    method: "post",
    doc: "Takes the answer that was pressed; the last one counts.",
    accepts: { option: text("The answer, word for word.", { max: 140 }) },
    async handle(request) {
      const { option } = request.body;
      await request.needs.answerLinks.answer(request.params.token ?? "", typeof option === "string" ? option : "");
      return show(request, true);
    },
  },
];

function show(request: OpenRequest, isNew: boolean) {
  const asked = request.needs.answerLinks.find(request.params.token ?? "");
  return asked ? answerPage(wordsOf(request), asked, isNew) : noAnswerPage(wordsOf(request), 404);
}

function refusal(error: unknown, request: Omit<OpenRequest, "body">) {
  return noAnswerPage(wordsOf(request), answerOf(error, request.requestId).status);
}

function wordsOf({ header }: Omit<OpenRequest, "body">): AnswerWords {
  return answerWords(header("accept-language"));
}
