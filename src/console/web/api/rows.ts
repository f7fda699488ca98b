import type { components } from "#client";
import type { DeviceState } from "../../../resources/devices/device-states.ts";
import type { ReachWarningCode, SEND_WARNING_CODES } from "../../../resources/notifications/reach-warnings.ts";
import type {
  BuildingOutcomes,
  PlacedDevice,
  RollCallEntry,
  RoomLocation,
} from "../../../resources/notifications/roll-call.ts";
import type { SentenceOfApi } from "../i18n/translator.ts";

export type { PlacedDevice, RollCallEntry, RoomLocation };

type Schemas = components["schemas"];

/** A row as the API's description has it; `A` are related rows, which the console never asks to be left out. */
export type RowOf<N extends keyof Schemas, A extends keyof Schemas[N] = never> = Schemas[N] &
  Required<Pick<Schemas[N], A>>;

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

/** Recipients and devices that a draft would reach. */
export interface Reach {
  recipientCount: number;
  devices: Readonly<Record<string, number>>;
  notReached: readonly { reason: string; reasonSentence: SentenceOfApi | null; count: number }[];
  offline: {
    count: number;
    devices: readonly { id: string; name: string; reason: string; reasonSentence: SentenceOfApi | null }[];
  };
  inUse: number;
  soundSeconds: number;
  expectedSeconds: number | null;
}

/** A message that is or was sent. */
export type NotificationRow = RowOf<"Notification", "initiator" | "distributionLists" | "deviceGroups" | "users">;

/** A message or preview as it was accepted, with the reason why it would reach no one, and other warnings. */
export type AcceptedNotification = NotificationRow & {
  warnings?: readonly { code: (typeof SEND_WARNING_CODES)[number]; message: string }[];
};

export interface ReachWarning {
  code: ReachWarningCode;
  message: string;
}

/** Responses by room; people without a room last. `total` and `answered` count everyone, `more` those left out. */
export interface RollCall {
  total: number;
  answered: number;
  rooms: readonly {
    room: RoomLocation | null;
    total: number;
    answered: number;
    more: number;
    people: readonly RollCallEntry[];
  }[];
}

/** The devices of a message, by room. */
export interface DeliveriesByRoom {
  unplaced: number;
  buildings: readonly BuildingOutcomes[];
  rooms: readonly { room: RoomLocation; devices: readonly PlacedDevice[] }[];
}

/** Devices per delivery level at a point in time. */
export interface ProgressPoint {
  at: string;
  sent: number;
  accepted: number;
  playing: number;
  missed: number;
  passedOver: number;
}

/** Delivery to one device. */
export type DeliveryRow = RowOf<"Delivery">;

/** A line of a message's diary. */
export type ActivityRow = RowOf<"NotificationActivity", "user">;

/** A phone, speaker or zone. */
export type DeviceRow = RowOf<"Device"> & { attributes: Readonly<Record<string, string>>; state: DeviceState | null };

/** One test on an attribute. */
export interface FilterInput {
  attribute: string;
  comparison: string;
  value: string;
  complement?: boolean;
}

/** A set of devices. */
export type GroupRow = RowOf<"DeviceGroup"> & { filters: readonly FilterInput[] | null };

/** Which appliance calls which devices. */
export type ActivationGroupRow = Omit<GroupRow, "endpointIds"> & RowOf<"ActivationGroup">;

/** Appliance that would call a device now. */
export interface Activation {
  activationGroupName: string | null;
  endpointName: string | null;
  endpointId: string | null;
  reason: string;
  reasonSentence: SentenceOfApi | null;
  candidates: readonly { endpointId: string; endpointName: string | null; reachable: boolean }[];
}

/** Result of a silent connectivity test. */
export interface ConnectivityTest {
  testedAt: string;
  provenAt: string | null;
  fault: string | null;
  faultSentence: SentenceOfApi | null;
}

/** An identity provider. */
export type IdentityProviderRow = RowOf<"IdentityProvider">;

/** Result of an identity provider test. */
export interface IdentityProviderTest {
  ok: boolean;
  checks: readonly {
    what: string;
    ok: boolean;
    code: string;
    value: string | null;
    words: string;
    wordsSentence: SentenceOfApi | null;
  }[];
}

/** A cluster of call managers. */
export type ClusterRow = RowOf<"CallmgrCluster">;

/** How an appliance serves a cluster. */
export type ClusterServerRow = RowOf<"CallmgrOnpremServer">;

/** Result of a cluster connection test. */
export interface ClusterTest {
  ok: boolean;
  checks: readonly {
    what: string;
    host: string;
    ok: boolean;
    needed: boolean;
    words: string;
    wordsSentence: SentenceOfApi | null;
    tookMs: number;
  }[];
}

/** An appliance that serves a cluster, and whether the passwords of the cluster are handed to it. */
export interface HandOverAppliance {
  endpointId: string;
  name: string | null;
  fingerprint: string | null;
  consent: "none" | "given" | "stale";
  handedOverAt: string | null;
}

/** What a phone's configuration file says, and why the phone may refuse pushes. */
export interface PhoneConfigurationCheck {
  server: string | null;
  file: string | null;
  configuration: {
    authenticationUrl: string | null;
    secureAuthenticationUrl: string | null;
    webAccess: "full" | "read-only" | "off" | null;
    load: string | null;
    securityMode: string | null;
    capfAddress: string | null;
  } | null;
  problems: readonly {
    code: string;
    severity: "refuses" | "may-refuse" | "unknown";
    words: string;
    wordsSentence: SentenceOfApi | null;
  }[];
}

/** How far the phones of a cluster are read. */
export interface PhoneCache {
  state: string;
  lastSuccessAt: string | null;
  phones: number | null;
  registered: number | null;
  reason: string | null;
  reasonSentence: SentenceOfApi | null;
  warningSentences: readonly (SentenceOfApi & { text: string })[];
}

/** How long the devices of a model take to begin to sound. */
export interface StartLatency {
  model: string;
  reports: number;
  medianMs: number;
  spreadMs: number;
  holdMs: number;
}

/** How the appliance was at a moment. */
export interface HealthSample {
  at: string;
  health: number;
  loopLagMs: number | null;
  writeMs: number | null;
  diskFreeBytes: number | null;
  memoryFreeBytes: number | null;
  residentBytes: number;
  broadcastsUnderWay: number;
  alarmActionsWaiting: number;
  webhooksWaiting: number;
}

/** An account. */
export type UserRow = RowOf<"User">;

/** A list of people. */
export type DistributionListRow = RowOf<"DistributionList">;

/** A message template. */
export type TemplateRow = RowOf<"MessageTemplate">;

/** Someone who has opted out of a template. */
export type OptOutRow = RowOf<"OptOut", "user">;

/** Answers to choose from. */
export type ConfirmationRequestRow = RowOf<"ConfirmationRequest">;

/** A part that extends the service. */
export type ExtensionRow = RowOf<"Extension"> & { config: Readonly<Record<string, unknown>> };

/** One setting of the appliance's file; values are JSON. */
export interface FileSetting {
  name: string;
  doc: string;
  docSentence: SentenceOfApi | null;
  value: string;
  default: string;
  /** What the file says by now, if that is another. */
  next: string | null;
}

/** The settings in force. */
export interface SettingsAnswer {
  file: string | null;
  fault: string | null;
  faultSentence: SentenceOfApi | null;
  settings: readonly FileSetting[];
}

/** The certificate that the appliance shows. */
export interface CertificateAnswer {
  origin: "own" | "installed" | null;
  names: readonly string[];
  validUntil: string | null;
  /** That of the own authority, PEM. */
  authority: string;
}

/** Backups on this appliance. */
export interface BackupsAnswer {
  folder: string;
  schedule: string | null;
  encrypted: boolean;
  provenAt: string | null;
  failedAt: string | null;
  failure: string | null;
  /** The newest first. */
  backups: readonly { name: string; takenAt: string; bytes: number; encrypted: boolean }[];
}

/** The time zone data of this appliance. */
export interface TimeZoneDataAnswer {
  /** The one in use first. */
  sources: readonly {
    kind: "installed" | "machine" | "node";
    version: string | null;
    arrivedAt: string | null;
    isInUse: boolean;
    differs: readonly string[];
    lacks: readonly string[];
  }[];
  problemSentences: readonly (SentenceOfApi & { text: string })[];
  /** The newest first. */
  changes: readonly TimeZoneChange[];
}

/** What new time zone data did. */
export interface TimeZoneChange {
  at: string;
  before: string;
  now: string;
  zones: readonly { name: string; from: string; before: string; now: string }[];
  rings: number;
  schedules: number;
  first: readonly {
    scheduleId: string;
    schedule: string;
    zone: string;
    localDate: string;
    localTime: string;
    before: string;
    now: string | null;
  }[];
}

/** An appliance. */
export type EndpointRow = RowOf<"Endpoint"> & {
  status: "GREEN" | "YELLOW" | "RED";
  /** Null of another appliance. */
  clock: {
    timeZone: string;
    synchronised: boolean | null;
    timeZoneVersion: string | null;
    timeZoneSource: "installed" | "machine" | "node" | null;
    offsets: readonly { from: string; minutes: number }[];
  } | null;
  redReasons: readonly string[];
  reasonSentences: readonly (SentenceOfApi & { text: string })[] | null;
  yellowReasons: readonly string[];
};

/** The current session. */
export interface SessionRow {
  /** Where the browser goes after the session's end, to log out at the identity provider. */
  logOutPath: string | null;
  /** Nothing else is allowed before. */
  mustSetUpSecondFactor: boolean;
  userId: string;
  name: string;
  email: string | null;
}

/** A second factor of a user. */
export type SecondFactorRow = RowOf<"SecondFactor">;
