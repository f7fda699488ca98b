import type { SentenceOfApi } from "../i18n/translator.ts";
import type { Named, Row } from "./rows.ts";

/** Something that is watched. */
export interface AlarmRow extends Row {
  type: string;
  status: "OK" | "ACTIVE";
  muted: boolean;
  /** When someone acknowledged it; null until then. */
  acknowledgedAt: string | null;
  acknowledgedBy: string | null;
  acknowledgementNote: string | null;
  reasons: readonly {
    endpointId: string | null;
    endpointName: string | null;
    reason: string;
    reasonSentence: SentenceOfApi | null;
    since: string;
  }[];
  /** Where it was asked for. */
  alarmThresholds?: readonly AlarmThreshold[];
}

/** How many speakers of an appliance may be unregistered. */
export interface AlarmThreshold {
  id?: string;
  endpointId: string;
  threshold: string;
}

/** An alarm entered a status. */
export interface AlarmEventRow extends Row {
  status: "OK" | "ACTIVE";
  endpointName: string | null;
  reasons: readonly string[];
  reasonSentences: readonly (SentenceOfApi & { text: string })[];
}

/** A message that is sent when an alarm enters a status. */
export interface AlarmActionRow extends Row {
  triggerOnStatus: "OK" | "ACTIVE";
  messageTemplateId: string | null;
  messageTemplate?: Named | null;
  areaOfInterestIds: readonly string[];
  collaborationGroupIds: readonly string[];
  deviceGroupIds: readonly string[];
  distributionListIds: readonly string[];
  userIds: readonly string[];
}

/** Messages of an alarm that are kept back. */
export interface AlarmMuteRow extends Row {
  until: string | null;
  reason: string | null;
  note: string | null;
}

/** Messages that a mute would have suppressed. */
export interface MutePreview {
  total: number;
  withheld: number;
}
