import { CallerError, LimitError, TooManyRequestsError, UpstreamError } from "../../lib/errors.ts";
import type { HttpResponse } from "../../lib/http-response.ts";
import type { JoinResult } from "../../people/campaigns.ts";
import type { PendingJoin } from "../../people/contact-proofs.ts";
import { parsePhoneNumber } from "../../people/phone-numbers.ts";
import { text } from "../../schema/field.ts";
import { fillPlaceholders } from "../../web-pages/authorize-messages.ts";
import { type CampaignMessages, campaignMessages } from "../../web-pages/campaign-messages.ts";
import {
  type JoinFormValues,
  renderCodePage,
  renderConfirmPage,
  renderJoinPage,
  renderLeavePage,
  renderMessagePage,
} from "../../web-pages/campaign-page.ts";
import type { Action, PublicRequest } from "../action.ts";
import { errorResponseOf } from "../error-response.ts";

const PAGE = {
  response: { kind: "page" },
  errorResponse: { kind: "page" },
  outsideVersion: true,
  permission: "open",
} as const;

/**
 * Public enrolment and unsubscribe pages of distribution lists, without scripts.
 * @source docs/decisions/0005-users-and-devices.md, Campaign
 */
export const campaignActions: readonly Action[] = [
  {
    ...PAGE,
    method: "get",
    at: "join/{distributionListId}",
    doc: "Enrolment page of a list. Also served at `/join/{distributionListId}`, the URL of the campaign.",
    handle: async (request) => joinForm(request, { name: "", email: "", phone: "" }),
    respondToError: errorPage,
  },
  {
    ...PAGE,
    method: "post",
    at: "join/{distributionListId}",
    doc: "Submits the enrolment form.",
    accepts: {
      name: text("Display name.", { max: 140 }),
      email: text("Email address.", { max: 254 }),
      phone: text("Mobile phone number.", { max: 40 }),
    },
    handle: join,
    respondToError: errorPage,
  },
  {
    ...PAGE,
    method: "get",
    at: "confirm-join/{token}",
    doc: "Confirmation page of an enrolment, opened by the link of a mail.",
    async handle(request) {
      const messages = messagesFor(request);
      const found = request.deps.campaigns.findPendingJoin(request.params.token ?? "");
      return found === null || found.needsCode ? invalidLinkPage(messages) : confirmPage(messages, found.join);
    },
    respondToError: errorPage,
  },
  {
    ...PAGE,
    method: "post",
    at: "confirm-join/{token}",
    doc: "Confirms an enrolment by the link of a mail, or with `code` of a text message.",
    accepts: { code: text("Code of the text message.", { max: 20 }) },
    handle: confirm,
    respondToError: errorPage,
  },
  {
    ...PAGE,
    method: "get",
    at: "leave/{token}",
    doc: "Unsubscribe page, opened by the link of a message.",
    handle: async (request) => {
      const messages = messagesFor(request);
      const list = request.deps.campaigns.findListByLink(request.params.token ?? "");
      if (!list) return invalidLinkPage(messages);
      return list.isOn
        ? renderLeavePage(messages, list.name)
        : renderMessagePage(messages, messages.leftTitle, messages.leftText);
    },
    respondToError: errorPage,
  },
  {
    ...PAGE,
    method: "post",
    at: "leave/{token}",
    doc: "Unsubscribes from the list; also used for one-click unsubscribe of mail clients (RFC 8058).",
    async handle(request) {
      const messages = messagesFor(request);
      await request.deps.campaigns.leaveByLink(request.params.token ?? "");
      return renderMessagePage(messages, messages.leftTitle, messages.leftText);
    },
    respondToError: errorPage,
  },
];

function joinForm(
  request: PublicRequest,
  typed: JoinFormValues,
  error: { status?: number; notice?: string } = {},
): HttpResponse {
  const messages = messagesFor(request);
  const list = request.deps.campaigns.find(request.params.distributionListId ?? "");
  if (!list) return invalidLinkPage(messages);
  return list.isOpen
    ? renderJoinPage(messages, list.name, { typed, ...error })
    : closedPage(messages, list.name, list.inactiveMessage);
}

async function join(request: PublicRequest): Promise<HttpResponse> {
  const messages = messagesFor(request);
  const typed = formValues(request);
  try {
    const person = {
      name: typed.name || null,
      email: typed.email || null,
      phone: typed.phone === "" ? null : parsePhoneNumber(typed.phone, "phone"),
    };
    const listId = request.params.distributionListId ?? "";
    const { language } = messages;
    return resultPage(
      messages,
      await request.deps.campaigns.joinList(listId, person, request.address, language),
      person,
    );
  } catch (error) {
    const notice = formNoticeOf(error, messages);
    if (notice === null) throw error;
    return joinForm(request, typed, { status: errorResponseOf(error, request.requestId).status, notice });
  }
}

async function confirm(request: PublicRequest): Promise<HttpResponse> {
  const messages = messagesFor(request);
  const token = request.params.token ?? "";
  const { campaigns } = request.deps;
  const found = campaigns.findPendingJoin(token);
  if (!found) return invalidLinkPage(messages);
  const code = typeof request.body.code === "string" ? request.body.code : null;
  try {
    return resultPage(messages, await campaigns.confirmJoin(token, code), found.join.person);
  } catch (error) {
    const notice = formNoticeOf(error, messages);
    if (notice === null || !found.needsCode) throw error;
    const { status } = errorResponseOf(error, request.requestId);
    return renderCodePage(messages, {
      action: `/confirm-join/${token}`,
      phone: found.join.person.phone ?? "",
      status,
      notice,
    });
  }
}

/** What the person must do next, or that all is done. */
function resultPage(
  messages: CampaignMessages,
  { outcome, listName: list, reply, step }: JoinResult,
  { email, phone }: PendingJoin["person"],
): HttpResponse {
  if (outcome === "inactive") return closedPage(messages, list, reply);
  if (step?.kind === "mail")
    return renderMessagePage(
      messages,
      messages.mailedTitle,
      fillPlaceholders(messages.mailedText, { email: email ?? "", list }),
    );
  if (step?.kind === "code")
    return renderCodePage(messages, { action: `/confirm-join/${step.token}`, phone: phone ?? "" });
  return renderMessagePage(messages, fillPlaceholders(messages.joinedTitle, { list }), messages.joinedText);
}

function confirmPage(messages: CampaignMessages, { listName, person: { email, phone } }: PendingJoin): HttpResponse {
  const texts = [
    fillPlaceholders(messages.confirmText, { email: email ?? "" }),
    ...(phone === null ? [] : [fillPlaceholders(messages.confirmPhone, { phone })]),
  ];
  return renderConfirmPage(
    messages,
    fillPlaceholders(messages.confirmTitle, { list: listName }),
    texts.join(" "),
    messages.confirm,
  );
}

/** Error message to show in the form; null for errors that the form cannot solve. */
function formNoticeOf(error: unknown, messages: CampaignMessages): string | null {
  if (error instanceof TooManyRequestsError)
    return fillPlaceholders(messages.wait, { seconds: String(error.retryAfterS) });
  if (error instanceof LimitError) return messages.full;
  if (error instanceof UpstreamError) return messages.unsent;
  if (!(error instanceof CallerError)) return null;
  if (error.type === "required") return messages.missing;
  const field = error.faults[0]?.field;
  if (field === "code") return messages.badCode;
  return field === "phone" ? messages.badPhone : field === "email" ? messages.badEmail : null;
}

function closedPage(messages: CampaignMessages, list: string, message: string | null): HttpResponse {
  return renderMessagePage(
    messages,
    fillPlaceholders(messages.closedTitle, { list }),
    message || messages.closedText,
    410,
  );
}

function invalidLinkPage(messages: CampaignMessages): HttpResponse {
  return renderMessagePage(messages, messages.refusedTitle, messages.refusedText, 404);
}

function errorPage(error: unknown, request: Omit<PublicRequest, "body">): HttpResponse {
  const messages = messagesFor(request);
  const { status } = errorResponseOf(error, request.requestId);
  return renderMessagePage(messages, messages.refusedTitle, messages.refusedText, status);
}

function formValues({ body }: PublicRequest): JoinFormValues {
  const typed = (name: string): string => (typeof body[name] === "string" ? (body[name] as string).trim() : "");
  return { name: typed("name"), email: typed("email"), phone: typed("phone") };
}

function messagesFor({ header }: Omit<PublicRequest, "body">): CampaignMessages {
  return campaignMessages(header("accept-language"));
}
