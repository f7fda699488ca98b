import type { HttpResponse } from "../../lib/http-response.ts";
import { optOutOfTemplate } from "../../people/opt-outs.ts";
import optOuts from "../../resources/messages/opt-outs.ts";
import users from "../../resources/people/users.ts";
import { uuid } from "../../schema/field.ts";
import { fillPlaceholders } from "../../web-pages/authorize-messages.ts";
import { renderConfirmPage, renderMessagePage } from "../../web-pages/campaign-page.ts";
import { type DeclineMessages, declineMessages } from "../../web-pages/decline-messages.ts";
import { type Action, type PublicRequest, requireVisibleRow } from "../action.ts";
import { errorResponseOf } from "../error-response.ts";
import { compileBodyValidator } from "./body-validator.ts";

const DECLINING = { notificationId: uuid("A message of the template that the user got.", { required: true }) };
const validateDecline = compileBodyValidator(DECLINING);

const PAGE = {
  response: { kind: "page" },
  errorResponse: { kind: "page" },
  outsideVersion: true,
  permission: "open",
  at: "decline/{token}",
  respondToError: errorPage,
} as const;

/** Declining further messages of a template, by a message of it that somebody got. own choice: path and body */
export const optOutActions: readonly Action[] = [
  {
    method: "post",
    at: "users/{userId}/opt-outs",
    doc: "Declines further messages of the template of a message that the user got, where it lets its recipients do so; declined before, the answer is the same.",
    response: { kind: "row", resource: optOuts },
    accepts: DECLINING,
    async handle(request) {
      const { id: userId } = requireVisibleRow(request, users, request.params.userId ?? "");
      const { notificationId } = validateDecline(request.body) as { notificationId: string };
      return request.respondWithRow(
        optOuts,
        await optOutOfTemplate(request.needs.store, { userId, notificationId }, request.by),
      );
    },
  },
  {
    ...PAGE,
    method: "get",
    doc: "The page on which a recipient declines further messages by the link of one; it lies at `/decline/{token}` too.",
    async handle(request) {
      const about = request.needs.declineLinks.find(request.params.token ?? "");
      const words = messagesFor(request);
      if (!about) return invalidLinkPage(words, 404);
      const { subject, isDeclined } = about;
      if (isDeclined) return declinedPage(words, subject);
      return renderConfirmPage(words, fillPlaceholders(words.askTitle, { subject }), words.askText, words.press);
    },
  },
  {
    ...PAGE,
    method: "post",
    doc: "Declines them, when the button of that page was pressed.",
    async handle(request) {
      const token = request.params.token ?? "";
      await request.needs.declineLinks.decline(token);
      return declinedPage(messagesFor(request), request.needs.declineLinks.find(token)?.subject ?? "");
    },
  },
];

function declinedPage(words: DeclineMessages, subject: string): HttpResponse {
  return renderMessagePage(words, words.doneTitle, fillPlaceholders(words.doneText, { subject }));
}

function invalidLinkPage(words: DeclineMessages, status: number): HttpResponse {
  return renderMessagePage(words, words.refusedTitle, words.refusedText, status);
}

function errorPage(error: unknown, request: Omit<PublicRequest, "body">): HttpResponse {
  return invalidLinkPage(messagesFor(request), errorResponseOf(error, request.requestId).status);
}

function messagesFor({ header }: Omit<PublicRequest, "body">): DeclineMessages {
  return declineMessages(header("accept-language"));
}
