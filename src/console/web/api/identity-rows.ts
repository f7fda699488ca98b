import type { SentenceOfApi } from "../i18n/translator.ts";
import type { Named, Row } from "./rows.ts";

/** Membership of a distribution list. */
export interface SubscriptionRow extends Row {
  userId: string;
  distributionListId: string;
  subscriptionEndDate: string | null;
  user?: (Named & { email: string | null }) | null;
  distributionList?: Named | null;
}

/** A contact method of a person. */
export interface UserDeviceRow extends Row {
  type: string;
  name: string | null;
  deviceIdentifier: string | null;
  disabled: boolean;
  /** Why the channel switched it off; null unless it did. */
  disabledReason: string | null;
  disabledReasonSentence: SentenceOfApi | null;
  verified: boolean;
  /** The owner has to enter the code that is sent there before anything else goes there. */
  awaitsVerification: boolean;
}

/** What logs a device in once. */
export interface Invitation {
  code: string;
  url: string;
  expires: string;
}

/** An API token; its value is returned once, in the response to the POST. */
export interface UserTokenRow extends Row {
  name: string;
  expires: string | null;
  type: string;
  tokenType: string;
  scope: string | null;
  client: string | null;
  addresses: readonly string[];
  lastUsedAt: string | null;
  lastUsedAddress: string | null;
  token?: string;
}

/** A group that carries permissions. */
export interface SecurityGroupRow extends Row {
  name: string;
  /** The only templates that members may send with; none for all. */
  allowedMessageTemplateIds: readonly string[];
  superGroup: boolean;
}

/** Membership of a security group. */
export interface MemberRow extends Row {
  userId: string;
  securityGroupId: string;
  user?: (Named & { email: string | null }) | null;
  securityGroup?: (Named & { superGroup: boolean }) | null;
}

/** Something that a group or a user may do. */
export interface PermissionRow extends Row {
  /** Domain that it is limited to, with those below; null for wherever one may act. */
  domainId: string | null;
  verb: string;
  spec: string;
}

/** What an appliance wrote down of itself. */
export interface EndpointActivityRow extends Row {
  type: string;
  state: string | null;
  severity: string;
  value: unknown;
  reasonSentence: SentenceOfApi | null;
  referenceType: string | null;
  referenceId: string | null;
}

/** A line of a plugin's log. */
export interface PluginLogLine {
  seq: number;
  at: string;
  level: string;
  message: string;
  details: string | null;
}

/** Self-enrolment settings of a list. */
export interface Campaign {
  welcomeMessage: string | null;
  inactiveMessage: string | null;
  url: string | null;
  subscribeTag: string | null;
  defaultNotificationDays: number | null;
  enrollmentEndDate: string | null;
}

/** A group of a directory outside. */
export interface DirectoryGroupRow extends Row {
  name: string;
  externalId: string | null;
  /** There with `includeMemberCounts`. */
  memberCount?: number;
}

/** Membership of a directory group. */
export interface DirectoryMemberRow extends Row {
  userId: string;
  user?: (Named & { email: string | null }) | null;
}

/** What ties a list or a security group to a group of a directory. */
export interface DirectoryLinkRow extends Row {
  scimGroupId: string;
  name: string | null;
  memberCount?: number;
}

/** A directory's token for provisioning. */
export interface ScimTokenRow extends Row {
  name: string;
  expires: string | null;
  homeDomainId: string | null;
  lastUsedAt: string | null;
  /** Told once. */
  token?: string;
}

/** How directories provision users. */
export interface ScimStatus {
  url: string;
  users: number;
  groups: number;
  /** Newest first. */
  lastRequests: readonly {
    at: string;
    directory: string | null;
    method: string;
    path: string;
    status: number;
    detail: string | null;
  }[];
}
