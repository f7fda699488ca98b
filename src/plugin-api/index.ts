import type { Clock } from "../lib/clock.ts";
import type { EventMap } from "../lib/events.ts";
import type { Field, ValueOf } from "../schema/field.ts";
import type { AccountMessageHandler } from "./account-message.ts";
import type { AudioTarget, DeliveryItem, OutcomeDetails, OutcomeLevel, StopRequest } from "./delivery.ts";
import type { DeviceFilterHandler } from "./device-filter.ts";
import type { PhoneLine } from "./phone-line.ts";
import type { PluginReport, PluginReportHandler } from "./plugin-report.ts";
import type { Rings } from "./ring-plan.ts";
import type { TextMessage, TextReply } from "./text-message.ts";
import type { TriggerInput } from "./trigger-input.ts";
import type { CallVoice } from "./voice.ts";

export { backoffMs } from "../lib/backoff.ts";
export { type Clock, sleep, type Timer } from "../lib/clock.ts";
export {
  addressTowards,
  interfaceAddress,
  isInterfaceName,
  isMulticastAddress,
  isNetworkUnreachable,
  isOwnAddress,
  NetworkUnreachableError,
  type OwnAddress,
} from "../lib/network-route.ts";
export {
  createPhoneNumberReader,
  type PhoneNumber,
  type PhoneNumberLibrary,
  type PhoneNumberReader,
} from "../lib/phone-numbers.ts";
export { parseRetryAfterMs } from "../lib/retry-after.ts";
export { createSemaphore } from "../lib/semaphore.ts";
export { createSerialQueue } from "../lib/serial-queue.ts";
export { fullBucket, takeToken } from "../lib/token-bucket.ts";
export { within } from "../lib/waits.ts";
export { checkMulticast, type MulticastCheck, type MulticastTarget } from "../media/multicast-check.ts";
export {
  createSrtcpDecryptor,
  createSrtpDecryptor,
  isSrtpKey,
  SRTP_MASTER_KEY_BYTES,
  SRTP_SUITES,
  type SrtpMasterKey,
} from "../media/srtp.ts";
export { boolean, integer, json, list, number, object, option, secret, text } from "../schema/field.ts";
export type { AccountMessage, AccountMessageHandler } from "./account-message.ts";
export type {
  AudioCodec,
  AudioTarget,
  DeliveryItem,
  DeliveryProfile,
  OutcomeDetails,
  OutcomeLevel,
  Scroll,
  StopRequest,
} from "./delivery.ts";
export { DEFAULT_PROFILE, joinSubjectAndBody } from "./delivery.ts";
export type {
  DeviceFilterHandler,
  DeviceFilterRequest,
  DeviceFilterResult,
  FilterCandidate,
} from "./device-filter.ts";
export { signJsonWebToken } from "./json-web-token.ts";
export { dedupeKeyOf, type MachineInputOptions, parsePayload, toTriggerInput } from "./machine-input.ts";
export { parseNamedSecrets } from "./named-secrets.ts";
export { createOutbox, failForMissingConfig, type Outbox, type SendResult } from "./outbox.ts";
export type { DialledCall, DialResult, PhoneLine } from "./phone-line.ts";
export type {
  PluginReport,
  PluginReportCell,
  PluginReportHandler,
  PluginReportParameter,
  PluginReportRequest,
} from "./plugin-report.ts";
export { defineSentences } from "./plugin-sentences.ts";
export { recipientLanguage } from "./recipient-language.ts";
export type { OfflineRing, PlannedRing, RingPlan, Rings } from "./ring-plan.ts";
export type { TextMessage, TextReply } from "./text-message.ts";
export type { CallReport, TriggerInput } from "./trigger-input.ts";
export type { CallVoice, VoicePart, VoiceTarget } from "./voice.ts";

/** A device that a plugin discovered or has in its configuration. Attribute values are strings. */
export interface DeviceReport {
  deviceIdentifier: string;
  type: "phones" | "speakers" | "plugins" | "idns";
  /** An empty string keeps the stored description. */
  description: string;
  attributes: Record<string, string>;
}

/**
 * Result of a silent connectivity test. `answered`: the device responded. `looped`: the appliance received its own
 * packets on the device's address, which proves nothing about the device. `untested`: not testable. Null: no response,
 * with `reason` as text for people (`defineSentences`).
 */
export interface ProbeResult {
  proof: "answered" | "looped" | "untested" | null;
  reason?: string;
}

/** Tests the connection to a device without any audible or visible effect; times out after 10 s. */
export type ProbeHandler = (device: DeliveryItem["device"]) => Promise<ProbeResult>;

/** An HTTP request to a plugin's port or route. */
export interface PluginRequest {
  method: string;
  /** Path and query, beginning with `/`; the prefix `/x/<plugin>` of a route is removed. */
  url: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** At most 64 KiB. */
  body: Uint8Array;
  remoteAddress: string;
}

/** A plugin's HTTP response; a `body` string is sent as UTF-8. */
export interface PluginResponse {
  status: number;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
}

/** Handles one request; times out after 10 s. */
export type PluginRequestHandler = (request: PluginRequest) => Promise<PluginResponse> | PluginResponse;

/** Core events a plugin may subscribe to; each is a hint. The latest `multicast.changed` is repeated to a new subscriber. */
export type PluginEvents = Pick<
  EventMap,
  "notification.accepted" | "notification.stopped" | "notification.settled" | "network.changed" | "multicast.changed"
>;

/**
 * A plugin's log: pino levels, one flat object and a message. The object's first key is `event`, a stable code such as
 * `mail.refused`.
 */
export interface PluginLog {
  debug(values: Record<string, unknown>, message: string): void;
  info(values: Record<string, unknown>, message: string): void;
  warn(values: Record<string, unknown>, message: string): void;
  error(values: Record<string, unknown>, message: string): void;
}

/**
 * The only interface between a plugin and Carillon. All values are structured-cloneable. The host undoes registrations
 * in reverse order when the plugin stops or `activate` throws.
 */
export interface PluginContext<C = Readonly<Record<string, unknown>>> {
  /** Validated configuration, secrets in clear text. */
  readonly config: C;
  readonly log: PluginLog;
  /** Aborts when the plugin must stop. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Public URLs of the plugin's own ports, by name; filled by `listen`. */
  readonly urls: Readonly<Record<string, string>>;
  /** Base URL of the main server without a trailing slash; routes are below `/x/<plugin>`. */
  readonly baseUrl: string;
  /** Interface for multicast by name or IPv4 address, from the settings; null: as the system's routes lead. */
  readonly multicastInterface: string | null;
  /** ISO 3166 code of the site's country, from the settings, for national telephone numbers; null if not set. */
  readonly country: string | null;
  /** Folder in which an installed plugin keeps files, the only one that it may write; not in backups. Null for plugins of the product. */
  readonly dataFolder: string | null;
  /** Receives deliveries in batches of at most 200; at most the manifest's `window` are unacknowledged at a time. */
  deliver(handler: (batch: DeliveryItem[]) => void): void;
  /** Receives cancelled deliveries: silence the devices, then report an outcome. */
  stop(handler: (request: StopRequest) => void): void;
  /** Handles silent connectivity tests, many in parallel. Without a handler the plugin's devices are untested. */
  probe(handler: ProbeHandler): void;
  /** Narrows the devices of messages; for extension type `device-filter`. Times out after 2 s per message. */
  filter(handler: DeviceFilterHandler): void;
  /** Sends messages that are no notifications; times out after 30 s. */
  accountMessage(handler: AccountMessageHandler): void;
  /** Offers a report; for extension type `report`. */
  report(report: PluginReport, handler: PluginReportHandler): void;
  /** Reports an outcome, any number of times. Levels only rise. */
  outcome(deliveryId: number, level: OutcomeLevel, details?: OutcomeDetails): void;
  stream: {
    /** Adds a target to this notification's audio stream. Plugins never send RTP themselves. */
    open(target: Omit<AudioTarget, "ssrc">, notificationId: string): Promise<void>;
    /** Removes a target before the audio ends. */
    close(target: Pick<AudioTarget, "group" | "port">, notificationId: string): Promise<void>;
  };
  voice: CallVoice;
  /** Calls to the appliance; requires `phone` in the manifest. */
  phone: PhoneLine;
  rings: Rings;
  /** Records a recipient's response; resolves with the reply text for the recipient, null for none. */
  confirm(recipientId: string, option: string): Promise<string | null>;
  /** An inbound text message: a response, or a keyword to join or leave a list. Resolves when it is stored. */
  receive(message: TextMessage): Promise<TextReply>;
  /** Submits an external trigger; resolves when the input is stored. */
  trigger(input: TriggerInput): Promise<void>;
  devices: {
    /** Creates or updates devices of this appliance; identifiers must match the plugin's claims. */
    report(devices: DeviceReport[]): Promise<void>;
  };
  /**
   * Opens port `name` (address and port from the settings); resolves with its public URL, whose path is `/<name>`. The
   * handler receives every path. Rejects if the manifest does not list the port or the port is in use.
   */
  listen(name: string, handler: PluginRequestHandler): Promise<string>;
  /** Serves `/x/<plugin>/<path>` and everything below it on the main server. `path` has no leading slash. */
  route(path: string, handler: PluginRequestHandler): void;
  state: {
    /** Small durable values; undefined if never set. */
    get(key: string): Promise<unknown>;
    set(key: string, value: unknown): Promise<void>;
  };
  resources: {
    /** Hints that a row of resource `path` (such as `devices`) changed. Requires `watches` in the manifest. */
    watch(path: string, handler: (change: { id: string; op: "create" | "update" | "delete" }) => void): void;
    /** Rows of a resource listed in `watches` (such as `callmgr-clusters`), without secrets; at most 1,000. */
    list(path: string): Promise<Record<string, unknown>[]>;
  };
  /** One outbound HTTP request under the address policy: no redirects, limited time and size. */
  fetch(
    url: string,
    options?: {
      method?: string;
      headers?: Record<string, string>;
      body?: string | Uint8Array;
      timeoutMs?: number;
      /** Maximum size of the response's body; default: 1 MiB. */
      maxBytes?: number;
      /** Returns the body as `bytes`, not as `body`, for a caller that knows its encoding. */
      binary?: boolean;
    },
  ): Promise<{ status: number; headers: Record<string, string>; body: string; bytes?: Uint8Array }>;
  /**
   * The address to connect to for a host that a third party named, such as the target of a redirection. Rejects if the
   * address policy does not allow it.
   */
  resolveTarget(host: string): Promise<string>;
  /**
   * Whether the address policy allows connections to this IP address. Ask before each connection to an address of a device, which
   * users enter: loopback, link-local and own addresses are for `network.allowedTargets` only.
   */
  isTargetAllowed(address: string): boolean;
  every(periodMs: number, handler: () => void): void;
  /** Subscribes to a core event. */
  onEvent<K extends keyof PluginEvents>(name: K, handler: (payload: PluginEvents[K]) => void): void;
  /**
   * Reports the plugin's health, shown with the extension. `reason` is text for people (`defineSentences`); several are
   * separated by `; `.
   */
  status(state: "ok" | "unconfigured" | "degraded" | "down", reason?: string): void;
}

/** The fields of a plugin's configuration. */
export type ConfigFields = Readonly<Record<string, Field>>;

/** Type of the validated configuration of fields `F`; null for a field without a value or default. */
export type ConfigOf<F extends ConfigFields> = {
  readonly [K in keyof F]: F[K] extends { required: true } | { default: unknown }
    ? ValueOf<F[K]>
    : ValueOf<F[K]> | null;
};

/** A plugin: its configuration fields and its start function. */
export interface PluginDefinition<F extends ConfigFields = ConfigFields> {
  config: F;
  /** Starts the plugin. The plugin is running once this returns; it fails if this throws or takes more than 10 s. */
  activate(ctx: PluginContext<ConfigOf<F>>): Promise<void> | void;
}

/**
 * Declares a plugin: `export default definePlugin({ config, activate })` in index.ts. `config` is the default export of
 * config.ts, which the core reads without starting the plugin. An export `profile` of config.ts defines the plugin's
 * fields in notification profiles; their values reach the plugin as `settings` of each delivery.
 */
export function definePlugin<const F extends ConfigFields>(definition: PluginDefinition<F>): PluginDefinition<F> {
  return definition;
}

/** Constraint on a device attribute: an integer range, an enumeration, or a pattern. */
export type AttributeRule =
  | { from: number; to: number }
  | { values: readonly string[] }
  | {
      /** Linear-time pattern. */
      pattern: string;
      /** Noun phrase for error messages, such as `an address such as 239.1.2.3`. */
      words: string;
    };

/**
 * Where an installed plugin connects to; everything else is refused. This machine, loopback and link-local addresses need an entry
 * in the setting `network.allowedTargets` besides.
 */
export interface PluginNetwork {
  /** Host names, `*.example.org`, IP addresses and networks such as `10.0.0.0/8`. */
  hosts?: readonly string[];
  /** Settings of the plugin that hold URLs or hosts, also within lists. */
  settings?: readonly string[];
  /** Attributes of devices that hold URLs or hosts. */
  deviceAttributes?: readonly string[];
}

/** `plugin.json`: what the core reads without starting the plugin. */
export interface PluginManifest {
  name: string;
  version: string;
  description: string;
  /** Type of the extension row. */
  extensionType: "device" | "device-filter" | "endpoint-proxy" | "collaboration" | "report";
  /** User device type served, for extension type `device`. */
  deviceType?: string;
  /**
   * Devices this plugin provides. `identifier` is an RE2 pattern; `attributes` constrain attributes that are present.
   */
  claims: {
    type: "phones" | "speakers" | "plugins" | "idns";
    identifier: string;
    attributes?: Record<string, AttributeRule>;
  }[];
  /**
   * The plugin places calls: each device has its own stream, opened by the plugin, and a call to end. A call to a
   * person's device may take long; its delivery ends with `last` or with a response.
   */
  calls?: boolean;
  /** Maximum number of deliveries without an outcome. */
  window: number;
  /** Enabled in a new installation. */
  enabledByDefault: boolean;
  /** Ports opened with `listen`. */
  listens: string[];
  /** Resources the plugin may watch and list. */
  watches: string[];
  /** Grants access to upcoming rings (`ctx.rings`). */
  rings?: boolean;
  /** Grants answering calls to the appliance (`ctx.phone`). */
  phone?: boolean;
  /** npm packages imported by the plugin. */
  packages: string[];
  /** Where the plugin connects to; absent: nowhere. Plugins that come with the product are not limited by it. */
  network?: PluginNetwork;
  /** Built-in plugins whose files this plugin uses. */
  builtOn?: string[];
  /** JavaScript heap limit in MiB; default 128. */
  memoryMb?: number;
  /** Activity type written on a notification if the plugin cannot be reached while sending. */
  failureCode?: string;
}

/** What a test peer may know about the plugin under test. */
export interface PeerDeps {
  /** URLs of the plugin's open ports by `<plugin>/<name>`; call it late, since ports open when the plugin starts. */
  urls(): Readonly<Record<string, string>>;
  /** Sends a request to the plugin's route as the main server does; resolves with null without a route. */
  route?(request: PluginRequest): Promise<PluginResponse | null>;
}

/**
 * A device on loopback that accepts everything and never reports playback, display or a response. The contract suite
 * runs every plugin against one; the plugin must not report more than the peer proved.
 */
export interface MutePeer {
  /** Plugin configuration for this peer, secrets in clear text. */
  readonly config: Record<string, unknown>;
  /** The target device, with the attributes that lead to the peer. */
  readonly device: DeliveryItem["device"];
  /** Level proven by the peer's acceptance: the plugin must report this level and no higher one. */
  readonly proves: "sent" | "accepted";
  /** Resolves once the plugin knows the peer, for devices that register themselves. */
  ready?(): Promise<void>;
  /** Resolves when the plugin asked for further proof and got none; at once for channels that cannot ask. */
  asked(): Promise<void>;
  close(): Promise<void>;
}

/** Default export of a plugin's `peer.ts`. */
export type OpenMutePeer = (deps: PeerDeps) => Promise<MutePeer>;
