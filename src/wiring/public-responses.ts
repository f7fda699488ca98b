import { type AnswerLinks, createAnswerLinks } from "../notifications/responses/answer-links.ts";
import {
  createTextMessageHandler,
  type TextMessageHandler,
  type TextReplyDeps,
} from "../notifications/responses/text-replies.ts";
import { type AddressProofs, createAddressProofs } from "../people/address-proofs.ts";
import { type CampaignDeps, type Campaigns, createCampaigns } from "../people/campaigns.ts";
import { type ContactChannels, createContactProofs } from "../people/contact-proofs.ts";
import { createDeclineLinks, type DeclineLinks } from "../people/opt-outs.ts";
import type { ApplianceData } from "./appliance-data.ts";

export interface PublicResponseDeps
  extends Omit<CampaignDeps, "store" | "notificationService" | "by" | "contactProofs"> {
  channels: ContactChannels;
  data: Pick<ApplianceData, "store" | "access">;
  notificationService: CampaignDeps["notificationService"] & TextReplyDeps["notificationService"];
}

/** All ways to answer, join and opt out without logging in. */
export interface PublicResponses {
  campaigns: Campaigns;
  addressProofs: AddressProofs;
  textReplies: TextMessageHandler;
  answerLinks: AnswerLinks;
  declineLinks: DeclineLinks;
}

export function createPublicResponses({ data: { store, access }, ...deps }: PublicResponseDeps): PublicResponses {
  const { clock, notificationService } = deps;
  const contactProofs = createContactProofs({ ...deps, store });
  const campaigns = createCampaigns({ ...deps, store, contactProofs, by: access.systemContext("campaigns") });
  return {
    campaigns,
    addressProofs: createAddressProofs({ ...deps, store, by: access.systemContext("address-proofs") }),
    textReplies: createTextMessageHandler({
      store,
      clock,
      notificationService,
      campaigns,
      by: access.systemContext("texts"),
      ...(deps.country !== undefined && { country: deps.country }),
    }),
    answerLinks: createAnswerLinks({ store, notificationService }),
    declineLinks: createDeclineLinks({ store, clock, by: access.systemContext("opt-outs") }),
  };
}
