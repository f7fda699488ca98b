import type { DeviceState } from "../../../resources/devices/device-states.ts";

/** What every row of the API has. */
export interface Row {
  id: string;
  createdAt: string;
  permissions: readonly string[];
}

/** Something with a name. */
export interface Named {
  id: string;
  name: string;
}

/** Whom and what a message would reach, as a draft says. */
export interface Reach {
  recipientCount: number;
  devices: Readonly<Record<string, number>>;
  notReached: readonly { reason: string; count: number }[];
  offline: { count: number; devices: readonly { id: string; name: string; reason: string }[] };
  inUse: number;
  soundSeconds: number;
  expectedSeconds: number | null;
}

/** A message that is or was sent. */
export interface NotificationRow extends Row {
  subject: string | null;
  body: string | null;
  drill: boolean;
  draft: boolean;
  priority: string;
  alertTone: string | null;
  abortedAt: string | null;
  expiresAt: string | null;
  parentNotificationId: string | null;
  audio: number;
  recipientCount: number;
  readCount: number;
  confirmationResults: Readonly<Record<string, number>>;
  progress: {
    percentComplete: number;
    devices: Readonly<Record<string, number>>;
    broadcastFinishedCount: number;
    broadcastFailedCount: number;
    expireCount: number;
    preview?: Reach;
  };
  initiator: Named | null;
  distributionLists: readonly Named[];
  deviceGroups: readonly Named[];
  users: readonly Named[];
}

/** How many devices had come how far by a moment. */
export interface ProgressPoint {
  at: string;
  sent: number;
  accepted: number;
  playing: number;
  missed: number;
}

/** What is proven of one device. */
export interface DeliveryRow extends Row {
  deviceIdentifier: string;
  name: string | null;
  type: string | null;
  level: string;
  reason: string | null;
  attempt: number;
  plannedAt: string | null;
  sentAt: string | null;
  acceptedAt: string | null;
  playingAt: string | null;
  endedAt: string | null;
  late: boolean;
}

/** A line of a message's diary. */
export interface ActivityRow extends Row {
  type: string;
  details: unknown;
  user: Named | null;
}

/** A phone, speaker or zone. */
export interface DeviceRow extends Row {
  deviceIdentifier: string;
  icopId: string;
  description: string;
  type: string;
  attributes: Readonly<Record<string, string>>;
  defunct: boolean;
  isLicensed: boolean;
  /** Null while nothing was sent to it. */
  state: DeviceState | null;
  lastLevel: string | null;
  lastSeenAt: string | null;
  failures: number | null;
}

/** One test on an attribute. */
export interface FilterInput {
  attribute: string;
  comparison: string;
  value: string;
  complement?: boolean;
}

/** A set of devices. */
export interface GroupRow extends Row {
  name: string;
  filterType: string;
  logicalExpression: string | null;
  filters: readonly FilterInput[] | null;
  additionIds: readonly string[] | null;
  exclusionIds: readonly string[] | null;
  numPhones?: number;
  numSpeakers?: number;
  numIdns?: number;
  numPlugins?: number;
}

/** An account. */
export interface UserRow extends Row {
  name: string;
  email: string | null;
  type: string;
  isLocked: boolean;
  securityGroups: readonly Named[];
  subscriptions: readonly {
    id: string;
    distributionListId: string;
    subscriptionEndDate: string | null;
    distributionList: Named | null;
  }[];
}

/** A list of people. */
export interface ListRow extends Row {
  name: string;
  isSubscribable: boolean | null;
}

/** A message made ready. */
export interface TemplateRow extends Row {
  name: string;
  subject: string;
  body: string | null;
  alertTone: string | null;
  audio: number;
  priority: string;
  followUp: boolean;
  deviceGroupIds: readonly string[];
  distributionListIds: readonly string[];
  confirmationRequestId: string | null;
  metadata: unknown;
  subjectCustomizable: boolean;
  bodyCustomizable: boolean;
  alertToneCustomizable: boolean;
  audioCustomizable: boolean;
  deviceGroupIdsCustomizable: boolean;
  distributionListIdsCustomizable: boolean;
}

/** Answers to choose from. */
export interface ConfirmationRow extends Row {
  name: string;
  options: readonly string[];
  expirationPeriod: number | null;
}

/** A part that extends the service. */
export interface ExtensionRow extends Row {
  name: string;
  type: string | null;
  config: Readonly<Record<string, unknown>>;
  disabled: boolean;
  globalDisabled: boolean;
  failureCode: string | null;
  status: PluginStatus | null;
}

/** How the plugin behind an extension runs. */
export interface PluginStatus {
  state: string;
  health: string;
  reason: string | null;
  /** Within 10 minutes; the fifth gives it up. */
  failures: number;
  nextTryAt: string | null;
}

/** An appliance. */
export interface EndpointRow extends Row {
  extensionId: string;
  name: string | null;
  status: "GREEN" | "YELLOW" | "RED";
  redReasons: readonly string[];
  yellowReasons: readonly string[];
  buildInfo: { version: string } | null;
}

/** Whose session it is. */
export interface SessionRow {
  userId: string;
  name: string;
  email: string | null;
}
