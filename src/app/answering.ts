import { type AnswerLinks, createAnswerLinks } from "../broadcast/answer-links.ts";
import { type CampaignNeeds, type Campaigns, createCampaigns } from "../broadcast/campaigns.ts";
import { createDeclineLinks, type DeclineLinks } from "../broadcast/opt-outs.ts";
import { createTextReplies, type TakeTextMessage, type TextReplyNeeds } from "../broadcast/text-replies.ts";
import type { ApplianceData } from "./appliance.ts";

/** What people answer through. */
export interface AnsweringNeeds extends Omit<CampaignNeeds, "store" | "broadcaster" | "by"> {
  data: Pick<ApplianceData, "store" | "access">;
  broadcaster: CampaignNeeds["broadcaster"] & TextReplyNeeds["broadcaster"];
}

/** All ways in which people answer, join and leave without logging in. */
export interface Answering {
  campaigns: Campaigns;
  textReplies: TakeTextMessage;
  answerLinks: AnswerLinks;
  declineLinks: DeclineLinks;
}

/** Makes links, campaigns and the reading of text messages, which joins campaigns. */
export function createAnswering({ data: { store, access }, ...needs }: AnsweringNeeds): Answering {
  const { clock, broadcaster } = needs;
  const campaigns = createCampaigns({ ...needs, store, by: access.systemBy("campaigns") });
  return {
    campaigns,
    textReplies: createTextReplies({ store, clock, broadcaster, campaigns, by: access.systemBy("texts") }),
    answerLinks: createAnswerLinks({ store, broadcaster }),
    declineLinks: createDeclineLinks({ store, clock, by: access.systemBy("opt-outs") }),
  };
}
