import type { SentenceOfApi } from "../i18n/translator.ts";
import type { Named, Row, RowOf } from "./rows.ts";

/** A question of a scenario. */
export interface ScenarioQuestion {
  id?: string;
  name: string;
  variable: string;
  /** `site` is what older clients send instead of a location; the console neither asks nor edits it. */
  type: "option" | "text" | "site";
  options: readonly string[];
  rank?: number;
  required: boolean;
}

/** A message of a scenario; null members come from the template. */
export interface ScenarioMessage {
  id?: string;
  name: string;
  messageTemplateId: string | null;
  subject: string | null;
  body: string | null;
  ttsCustomContent: string | null;
  confirmationRequestId: string | null;
  siteRoleIds: readonly string[];
}

/** The levels of a place, widest first. */
export const PLACE_LEVELS = ["site", "building", "floor", "zone"] as const;

/** A place by its ids per level; levels that were not chosen are left out. */
export type PlaceIds = { readonly [L in (typeof PLACE_LEVELS)[number]]?: Named };

/** A prepared scenario. */
export type ScenarioRow = Omit<RowOf<"Scenario">, "fields" | "messages"> & {
  fields: readonly ScenarioQuestion[];
  messages: readonly ScenarioMessage[];
  defaultLocation: PlaceIds | null;
};

/** How many a start would reach, with the first of them. */
interface Counted {
  count: number;
  first: readonly Named[];
}

/** A scenario with a preview of its start. */
export type ScenarioPreview = ScenarioRow & {
  preview?: {
    location: PlaceIds | null;
    locationText: string;
    messages: readonly {
      messageId: string;
      name: string;
      subject: string | null;
      body: string | null;
      ttsCustomContent: string | null;
      users: Counted;
      devices: Counted;
    }[];
  };
};

/** A scenario that was started. */
export type StartedScenarioRow = Omit<RowOf<"ScenarioNotification">, "messagesNotSent"> & {
  messagesNotSent: readonly { messageId: string; name: string }[] | null;
};

/** A plan for incidents. */
export type IncidentPlanRow = RowOf<"IncidentPlan">;

/** A file or link of a plan or of an incident. */
export interface IncidentAidRow extends Row {
  name: string;
  type: "file" | "hyperlink";
  hyperlink: string | null;
  fileName: string | null;
  size: number;
}

/** Something that happened or is practised. */
export type IncidentRow = RowOf<"Incident">;

/** A person on the roster of an incident. */
export interface RosterEntry {
  userId: string;
  name: string | null;
  status: string | null;
  location: string | null;
  at: string | null;
}

/** A call that follows when a scenario is started. */
export type RuleActionRow = RowOf<"RuleAction">;

/** Something within an incident. */
export interface TimelineEntry {
  at: string;
  kind: string;
  what: string;
  notificationId: string | null;
  userName: string | null;
  count: number;
  names: readonly string[];
  words: string | null;
  wordsSentence: SentenceOfApi | null;
}
