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

const DECLINING = { notificationId: uuid("A message of the template that the user received.", { required: true }) };
const validateDecline = compileBodyValidator(DECLINING);

const PAGE = {
  response: { kind: "page" },
  errorResponse: { kind: "page" },
  outsideVersion: true,
  permission: "open",
  at: "decline/{token}",
  respondToError: errorPage,
} as const;

/** Opting out of messages of a template, by a received message. */
export const optOutActions: readonly Action[] = [
  {
    method: "post",
    at: "users/{userId}/opt-outs",
    doc: "Opts the user out of further messages of the template of a received message, if the template allows it. Idempotent.",
    response: { kind: "row", resource: optOuts },
    accepts: DECLINING,
    async handle(request) {
      const { id: userId } = requireVisibleRow(request, users, request.params.userId ?? "");
      const { notificationId } = validateDecline(request.body) as { notificationId: string };
      return request.respondWithRow(
        optOuts,
        await optOutOfTemplate(request.deps.store, { userId, notificationId }, request.by),
      );
    },
  },
  {
    ...PAGE,
    method: "get",
    doc: "Opt-out page, opened by the link of a message. Also served at `/decline/{token}`.",
    async handle(request) {
      const target = request.deps.declineLinks.find(request.params.token ?? "");
      const messages = messagesFor(request);
      if (!target) return invalidLinkPage(messages, 404);
      const { subject, isDeclined } = target;
      if (isDeclined) return declinedPage(messages, subject);
      return renderConfirmPage(
        messages,
        fillPlaceholders(messages.askTitle, { subject }),
        messages.askText,
        messages.press,
      );
    },
  },
  {
    ...PAGE,
    method: "post",
    doc: "Records the opt-out of that page.",
    async handle(request) {
      const token = request.params.token ?? "";
      await request.deps.declineLinks.decline(token);
      return declinedPage(messagesFor(request), request.deps.declineLinks.find(token)?.subject ?? "");
    },
  },
];

function declinedPage(messages: DeclineMessages, subject: string): HttpResponse {
  return renderMessagePage(messages, messages.doneTitle, fillPlaceholders(messages.doneText, { subject }));
}

function invalidLinkPage(messages: DeclineMessages, status: number): HttpResponse {
  return renderMessagePage(messages, messages.refusedTitle, messages.refusedText, status);
}

function errorPage(error: unknown, request: Omit<PublicRequest, "body">): HttpResponse {
  return invalidLinkPage(messagesFor(request), errorResponseOf(error, request.requestId).status);
}

function messagesFor({ header }: Omit<PublicRequest, "body">): DeclineMessages {
  return declineMessages(header("accept-language"));
}
