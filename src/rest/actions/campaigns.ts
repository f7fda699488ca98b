import { CallerError, LimitError, TooManyRequests } from "../../base/errors.ts";
import { phoneOf } from "../../broadcast/campaigns.ts";
import { text } from "../../schema/field.ts";
import type { Action, Answer, OpenRequest } from "../action.ts";
import { filled } from "../authorize-words.ts";
import { joinPage, leavePage, type TypedPerson, tellingPage } from "../campaign-page.ts";
import { type CampaignWords, campaignWords } from "../campaign-words.ts";
import { answerOf } from "../error-answer.ts";

const PAGE = {
  answers: { kind: "page" },
  refuses: { kind: "page" },
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
    handle: async (request) => form(request, { name: "", email: "", phone: "" }),
    refusal,
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
    refusal,
  },
  {
    ...PAGE,
    method: "get",
    at: "leave/{token}",
    doc: "The page on which people leave a list by the link of a message.",
    handle: async (request) => {
      const words = wordsOf(request);
      const list = request.needs.campaigns.listOfLink(request.params.token ?? "");
      if (!list) return noLink(words);
      return list.isOn ? leavePage(words, list.name) : tellingPage(words, words.leftTitle, words.leftText);
    },
    refusal,
  },
  {
    ...PAGE,
    method: "post",
    at: "leave/{token}",
    doc: "Leaves the list; programs of mail may post here as well.",
    async handle(request) {
      const words = wordsOf(request);
      await request.needs.campaigns.leaveByLink(request.params.token ?? "");
      return tellingPage(words, words.leftTitle, words.leftText);
    },
    refusal,
  },
];

function form(request: OpenRequest, typed: TypedPerson, fault: { status?: number; notice?: string } = {}): Answer {
  const words = wordsOf(request);
  const list = request.needs.campaigns.find(request.params.distributionListId ?? "");
  if (!list) return noLink(words);
  return list.isOpen ? joinPage(words, list.name, { typed, ...fault }) : closed(words, list.name, list.inactiveMessage);
}

async function join(request: OpenRequest): Promise<Answer> {
  const words = wordsOf(request);
  const typed = typedIn(request);
  try {
    const person = {
      name: typed.name || null,
      email: typed.email || null,
      phone: typed.phone === "" ? null : phoneOf(typed.phone, "phone"),
    };
    const listId = request.params.distributionListId ?? "";
    const { outcome, listName, reply } = await request.needs.campaigns.joinList(listId, person, request.address);
    if (outcome === "inactive") return closed(words, listName, reply);
    return tellingPage(words, filled(words.joinedTitle, { list: listName }), words.joinedText);
  } catch (error) {
    const notice = noticeOf(error, words);
    if (notice === null) throw error;
    return form(request, typed, { status: answerOf(error, request.requestId).status, notice });
  }
}

/** What was wrong in words that the form can show; null for what it can't mend. */
function noticeOf(error: unknown, words: CampaignWords): string | null {
  if (error instanceof TooManyRequests) return filled(words.wait, { seconds: String(error.retryAfterS) });
  if (error instanceof LimitError) return words.full;
  if (!(error instanceof CallerError)) return null;
  if (error.type === "required") return words.missing;
  const field = error.faults[0]?.field;
  return field === "phone" ? words.badPhone : field === "email" ? words.badEmail : null;
}

function closed(words: CampaignWords, list: string, message: string | null): Answer {
  return tellingPage(words, filled(words.closedTitle, { list }), message || words.closedText, 410);
}

function noLink(words: CampaignWords): Answer {
  return tellingPage(words, words.refusedTitle, words.refusedText, 404);
}

function refusal(error: unknown, request: Omit<OpenRequest, "body">): Answer {
  const words = wordsOf(request);
  const { status } = answerOf(error, request.requestId);
  return tellingPage(words, words.refusedTitle, words.refusedText, status);
}

function typedIn({ body }: OpenRequest): TypedPerson {
  const typed = (name: string): string => (typeof body[name] === "string" ? (body[name] as string).trim() : "");
  return { name: typed("name"), email: typed("email"), phone: typed("phone") };
}

function wordsOf({ header }: Omit<OpenRequest, "body">): CampaignWords {
  return campaignWords(header("accept-language"));
}
