import { declineLike } from "../../broadcast/opt-outs.ts";
import optOuts from "../../resources/messages/opt-outs.ts";
import users from "../../resources/people/users.ts";
import { uuid } from "../../schema/field.ts";
import { type Action, type Answer, type OpenRequest, visibleRow } from "../action.ts";
import { filled } from "../authorize-words.ts";
import { askingPage, tellingPage } from "../campaign-page.ts";
import { type DeclineWords, declineWords } from "../decline-words.ts";
import { answerOf } from "../error-answer.ts";
import { bodyCheck } from "./checked-body.ts";

const DECLINING = { notificationId: uuid("A message of the template that the user got.", { required: true }) };
const check = bodyCheck(DECLINING);

const PAGE = {
  answers: { kind: "page" },
  refuses: { kind: "page" },
  outsideVersion: true,
  permission: "open",
  at: "decline/{token}",
  refusal,
} as const;

/** Declining further messages of a template, by a message of it that somebody got. own choice: path and body */
export const optOutActions: readonly Action[] = [
  {
    method: "post",
    at: "users/{userId}/opt-outs",
    doc: "Declines further messages of the template of a message that the user got, where it lets its recipients do so; declined before, the answer is the same.",
    answers: { kind: "row", resource: optOuts },
    accepts: DECLINING,
    async handle(request) {
      const { id: userId } = visibleRow(request, users, request.params.userId ?? "");
      const { notificationId } = check(request.body) as { notificationId: string };
      return request.show(optOuts, await declineLike(request.needs.store, { userId, notificationId }, request.by));
    },
  },
  {
    ...PAGE,
    method: "get",
    doc: "The page on which a recipient declines further messages by the link of one; it lies at `/decline/{token}` too.",
    async handle(request) {
      const about = request.needs.declineLinks.find(request.params.token ?? "");
      const words = wordsOf(request);
      if (!about) return noLink(words, 404);
      const { subject, isDeclined } = about;
      if (isDeclined) return done(words, subject);
      return askingPage(words, filled(words.askTitle, { subject }), words.askText, words.press);
    },
  },
  {
    ...PAGE,
    method: "post",
    doc: "Declines them, when the button of that page was pressed.",
    async handle(request) {
      const token = request.params.token ?? "";
      await request.needs.declineLinks.decline(token);
      return done(wordsOf(request), request.needs.declineLinks.find(token)?.subject ?? "");
    },
  },
];

function done(words: DeclineWords, subject: string): Answer {
  return tellingPage(words, words.doneTitle, filled(words.doneText, { subject }));
}

function noLink(words: DeclineWords, status: number): Answer {
  return tellingPage(words, words.refusedTitle, words.refusedText, status);
}

function refusal(error: unknown, request: Omit<OpenRequest, "body">): Answer {
  return noLink(wordsOf(request), answerOf(error, request.requestId).status);
}

function wordsOf({ header }: Omit<OpenRequest, "body">): DeclineWords {
  return declineWords(header("accept-language"));
}
