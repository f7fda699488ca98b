import type { SentenceOfApi } from "../i18n/translator.ts";
import type { RowOf } from "./rows.ts";

/** A sentence in a list of them. */
export type ListedSentence = SentenceOfApi & { text: string };

/** State of the appliance's link to its cloud. */
export interface CloudLink {
  role: "hub" | "appliance";
  endpointId: string;
  mode: "cloud" | "lan" | "solo";
  /** Null for an appliance that was never enrolled. */
  hub: string | null;
  state: "none" | "connecting" | "connected" | "waiting" | "refused";
  since: string | null;
  connectedAt: string | null;
  reason: string | null;
  reasonSentence: SentenceOfApi | null;
  certificateUntil: string | null;
  unsentRows: number;
  unsentSince: string | null;
  lagSeconds: number;
  stagedRows: number;
  resyncing: boolean;
  refusedRows: number;
  refused: readonly { resource: string; rowId: string; reason: string; reasonSentence: SentenceOfApi | null }[];
  /** Secrets to enter at this appliance. */
  secretTasks: readonly SecretTask[];
  initialSync: InitialSync | null;
  position: { applied: number; received: number; written: number; taken: number } | null;
}

/** What the first sync of the appliance with its cloud brought. */
export interface InitialSync {
  mode: "adopt" | "join";
  state: "running" | "differs" | "complete" | "accepted";
  startedAt: string;
  checkedAt: string | null;
  finishedAt: string | null;
  waitsFor: string | null;
  waitsForSentence: SentenceOfApi | null;
  types: readonly {
    resource: string;
    before: number;
    cloudBefore: number | null;
    here: number | null;
    cloud: number | null;
    isEqual: boolean;
  }[];
  differences: readonly {
    resource: string;
    rowId: string;
    name: string | null;
    kind: "only-here" | "only-cloud" | "unequal" | "lost";
    fields: readonly string[];
    reason: string | null;
    reasonSentence: SentenceOfApi | null;
  }[];
  more: number;
}

/** A secret that the cloud has and this appliance has not. */
export interface SecretTask {
  resource: string;
  rowId: string;
  name: string | null;
  field: string;
  reason: "missing" | "changed";
  isNeeded: boolean;
}

/** A field in which the site's change was overridden. */
export interface ConflictField {
  name: string;
  site: unknown;
  present: unknown;
  siteName: string | null;
  presentName: string | null;
}

/** A change of a site that was overridden by the cloud. */
export interface ConflictRow {
  id: string;
  resource: string;
  rowId: string;
  rowName: string | null;
  op: "create" | "update" | "delete";
  kind: "changed" | "gone" | "refused";
  endpointId: string;
  actorName: string;
  at: string;
  fields: readonly ConflictField[];
  usable: boolean;
}

/** An appliance as its cloud knows it. */
export interface ApplianceRow {
  endpointId: string;
  name: string | null;
  site: { siteId: string; name: string; latitude: number | null; longitude: number | null } | null;
  link: "linked" | "away" | "never" | "revoked";
  since: string | null;
  heardAt: string | null;
  version: string | null;
  certificateUntil: string | null;
  position: number | null;
  head: number;
  rowsBehind: number | null;
  behindSince: string | null;
  unsentRows: number | null;
  unsentSince: string | null;
  openCommands: number;
  waitingRows: number;
  waits: readonly { resource: string; rowId: string; reason: string; reasonSentence: SentenceOfApi | null }[];
  health: { status: "GREEN" | "YELLOW" | "RED"; reasonSentences: readonly ListedSentence[]; at: string } | null;
  alarms: readonly { alarmId: string; type: string; since: string; reasonSentences: readonly ListedSentence[] }[];
}

/** The appliances of the organisation, and the version offered to them. */
export interface ApplianceOverview {
  appliances: readonly ApplianceRow[];
  offeredVersion: string | null;
}

/** An upgrade of many appliances. */
export type UpgradeRow = RowOf<"ApplianceUpgrade", "counts">;

/** One appliance in it. */
export type UpgradeStepRow = RowOf<"ApplianceUpgradeTurn", "endpoint">;

/** A code that can still be used. */
export interface EnrolmentCodeRow {
  id: string;
  endpointId: string | null;
  until: string;
}

/** Two appliances of which one takes the other's place. */
export type FailoverPairRow = RowOf<"FailoverPair">;

/** Failover state of the appliance and its peers. */
export interface FailoverDetails {
  role: "primary" | "backup" | "standalone";
  state: "active" | "standby" | "takeover" | "unreachable";
  lastHeartbeatAt: string | null;
  activationGroupIds: readonly string[];
  since: string | null;
  peers: readonly string[];
}
