import { CallerError, LimitError, TooManyRequestsError } from "../../lib/errors.ts";
import type { HttpResponse } from "../../lib/http-response.ts";
import { parsePhoneNumber } from "../../people/campaigns.ts";
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

/** Pages on which people join and leave lists by themselves; they need no scripts. @source decisions.md 5, Campaign */
export const campaignActions: readonly Action[] = [
  {
    ...PAGE,
    method: "get",
    at: "join/{distributionListId}",
    doc: "The page on which people join a list; it lies at `/join/{distributionListId}` too, the campaign's url.",
    handle: async (request) => joinForm(request, { name: "", email: "", phone: "" }),
    respondToError: errorPage,
  },
  {
    ...PAGE,
    method: "post",
    at: "join/{distributionListId}",
    doc: "Takes the form of that page.",
    accepts: {
      name: text("What others call the person.", { max: 140 }),
      email: text("Mail address.", { max: 254 }),
      phone: text("Mobile number.", { max: 40 }),
    },
    handle: join,
    respondToError: errorPage,
  },
  {
    ...PAGE,
    method: "get",
    at: "leave/{token}",
    doc: "The page on which people leave a list by the link of a message.",
    handle: async (request) => {
      const words = messagesFor(request);
      const list = request.needs.campaigns.findListByLink(request.params.token ?? "");
      if (!list) return invalidLinkPage(words);
      return list.isOn ? renderLeavePage(words, list.name) : renderMessagePage(words, words.leftTitle, words.leftText);
    },
    respondToError: errorPage,
  },
  {
    ...PAGE,
    method: "post",
    at: "leave/{token}",
    doc: "Leaves the list; programs of mail may post here as well.",
    async handle(request) {
      const words = messagesFor(request);
      await request.needs.campaigns.leaveByLink(request.params.token ?? "");
      return renderMessagePage(words, words.leftTitle, words.leftText);
    },
    respondToError: errorPage,
  },
];

function joinForm(
  request: PublicRequest,
  typed: JoinFormValues,
  fault: { status?: number; notice?: string } = {},
): HttpResponse {
  const words = messagesFor(request);
  const list = request.needs.campaigns.find(request.params.distributionListId ?? "");
  if (!list) return invalidLinkPage(words);
  return list.isOpen
    ? renderJoinPage(words, list.name, { typed, ...fault })
    : closedPage(words, list.name, list.inactiveMessage);
}

async function join(request: PublicRequest): Promise<HttpResponse> {
  const words = messagesFor(request);
  const typed = formValues(request);
  try {
    const person = {
      name: typed.name || null,
      email: typed.email || null,
      phone: typed.phone === "" ? null : parsePhoneNumber(typed.phone, "phone"),
    };
    const listId = request.params.distributionListId ?? "";
    const { outcome, listName, reply } = await request.needs.campaigns.joinList(listId, person, request.address);
    if (outcome === "inactive") return closedPage(words, listName, reply);
    return renderMessagePage(words, fillPlaceholders(words.joinedTitle, { list: listName }), words.joinedText);
  } catch (error) {
    const notice = formNoticeOf(error, words);
    if (notice === null) throw error;
    return joinForm(request, typed, { status: errorResponseOf(error, request.requestId).status, notice });
  }
}

/** What was wrong in words that the form can show; null for what it can't mend. */
function formNoticeOf(error: unknown, words: CampaignMessages): string | null {
  if (error instanceof TooManyRequestsError)
    return fillPlaceholders(words.wait, { seconds: String(error.retryAfterS) });
  if (error instanceof LimitError) return words.full;
  if (!(error instanceof CallerError)) return null;
  if (error.type === "required") return words.missing;
  const field = error.faults[0]?.field;
  return field === "phone" ? words.badPhone : field === "email" ? words.badEmail : null;
}

function closedPage(words: CampaignMessages, list: string, message: string | null): HttpResponse {
  return renderMessagePage(words, fillPlaceholders(words.closedTitle, { list }), message || words.closedText, 410);
}

function invalidLinkPage(words: CampaignMessages): HttpResponse {
  return renderMessagePage(words, words.refusedTitle, words.refusedText, 404);
}

function errorPage(error: unknown, request: Omit<PublicRequest, "body">): HttpResponse {
  const words = messagesFor(request);
  const { status } = errorResponseOf(error, request.requestId);
  return renderMessagePage(words, words.refusedTitle, words.refusedText, status);
}

function formValues({ body }: PublicRequest): JoinFormValues {
  const typed = (name: string): string => (typeof body[name] === "string" ? (body[name] as string).trim() : "");
  return { name: typed("name"), email: typed("email"), phone: typed("phone") };
}

function messagesFor({ header }: Omit<PublicRequest, "body">): CampaignMessages {
  return campaignMessages(header("accept-language"));
}
