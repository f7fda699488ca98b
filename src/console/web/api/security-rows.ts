import type { SentenceOfApi } from "../i18n/translator.ts";
import type { ListedSentence } from "./link-rows.ts";
import type { Named, Row } from "./rows.ts";

/** Something that was done or refused. */
export interface AuditRow extends Row {
  op: string;
  resource: string | null;
  rowId: string | null;
  actorKind: string;
  actorId: string | null;
  actorName: string | null;
  address: string | null;
  before: unknown;
  after: unknown;
  changeSentence?: SentenceOfApi | null;
  reasonSentence?: SentenceOfApi | null;
  details: unknown;
  hash: string;
}

/** Result of the integrity check of the audit log. */
export interface AuditCheck {
  intact: boolean;
  entries: number;
  last: { number: number; hash: string };
  broken: {
    number: number;
    id: string | null;
    at: string | null;
    reason: string;
    reasonSentence: SentenceOfApi | null;
  } | null;
  finished: boolean;
}

/** A program that gets tokens by OAuth 2. */
export interface ApplicationRow extends Row {
  name: string;
  clientId: string;
  type: string;
  redirectUris: readonly string[];
  scopes: readonly string[];
  userId: string | null;
  user?: Named | null;
  secretCreatedAt: string | null;
  /** Told once. */
  clientSecret?: string | null;
}

/** A web address that is called when rows are written. */
export interface WebhookRow extends Row {
  name: string;
  spec: string;
  url: string;
  disabled: boolean;
  disabledReason: string | null;
  disabledReasonSentence: SentenceOfApi | null;
  owner?: Named | null;
  previousSecretUntil: string | null;
  /** Told once. */
  secret?: string;
}

/** A call of a webhook. */
export interface WebhookDeliveryRow extends Row {
  event: string;
  resourceId: string | null;
  state: string;
  attempts: number;
  lastAttemptAt: string | null;
  lastStatus: number | null;
  reason: string | null;
  reasonSentence: SentenceOfApi | null;
  nextAttemptAt: string | null;
  deliveredAt: string | null;
}

/** The permission that decides, and where it comes from; `*` stands for all permissions. */
export interface DecidingPermission {
  verb: string;
  spec: string;
  from: "implicit" | "super-group" | "own" | "group";
  permissionId: string | null;
  securityGroupId: string | null;
  securityGroupName: string | null;
  domainId: string | null;
}

/** Whether a user may do something, and why. */
export interface AccessAnswer {
  granted: boolean;
  domainId: string | null;
  grants: readonly DecidingPermission[];
  missing: readonly string[];
  missingSentences: readonly ListedSentence[];
}

/** The domains in which one may act, and the one acted in. */
export interface ActingDomains {
  actingDomainId: string | null;
  data: readonly { id: string; name: string; namePath: string }[];
}

/** A part of the organisation. */
export interface DomainRow extends Row {
  name: string;
  parentId: string | null;
  namePath: string | null;
}
