import { CallerError, LimitError, TooManyRequestsError } from "../../lib/errors.ts";
import type { HttpResponse } from "../../lib/http-response.ts";
import { parsePhoneNumber } from "../../people/phone-numbers.ts";
import { text } from "../../schema/field.ts";
import { fillPlaceholders } from "../../web-pages/authorize-messages.ts";
import { type CampaignMessages, campaignMessages } from "../../web-pages/campaign-messages.ts";
import {
  type JoinFormValues,
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
    const { outcome, listName, reply } = await request.deps.campaigns.joinList(listId, person, request.address);
    if (outcome === "inactive") return closedPage(messages, listName, reply);
    return renderMessagePage(messages, fillPlaceholders(messages.joinedTitle, { list: listName }), messages.joinedText);
  } catch (error) {
    const notice = formNoticeOf(error, messages);
    if (notice === null) throw error;
    return joinForm(request, typed, { status: errorResponseOf(error, request.requestId).status, notice });
  }
}

/** Error message to show in the form; null for errors that the form cannot solve. */
function formNoticeOf(error: unknown, messages: CampaignMessages): string | null {
  if (error instanceof TooManyRequestsError)
    return fillPlaceholders(messages.wait, { seconds: String(error.retryAfterS) });
  if (error instanceof LimitError) return messages.full;
  if (!(error instanceof CallerError)) return null;
  if (error.type === "required") return messages.missing;
  const field = error.faults[0]?.field;
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
