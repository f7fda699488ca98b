import type { Clock } from "../lib/clock.ts";
import type { EventMap } from "../lib/events.ts";
import type { Field, ValueOf } from "../schema/field.ts";
import type { AudioTarget, DeliveryItem, OutcomeDetails, OutcomeLevel, StopRequest } from "./delivery.ts";
import type { Rings } from "./ring-plan.ts";
import type { TextMessage, TextReply } from "./text-message.ts";
import type { TriggerInput } from "./trigger-input.ts";
import type { CallVoice } from "./voice.ts";

export type { Clock, Timer } from "../lib/clock.ts";
export {
  createSrtcpDecryptor,
  createSrtpDecryptor,
  isSrtpKey,
  SRTP_MASTER_KEY_BYTES,
  SRTP_SUITES,
  type SrtpMasterKey,
} from "../media/srtp.ts";
export { boolean, integer, json, list, number, object, option, secret, text } from "../schema/field.ts";
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
export { signJsonWebToken } from "./json-web-token.ts";
export { dedupeKeyOf, type MachineInputOptions, parsePayload, toTriggerInput } from "./machine-input.ts";
export { parseNamedSecrets } from "./named-secrets.ts";
export { createOutbox, failForMissingConfig, type Outbox, type SendResult } from "./outbox.ts";
export type { OfflineRing, PlannedRing, RingPlan, Rings } from "./ring-plan.ts";
export type { TextMessage, TextReply } from "./text-message.ts";
export type { CallReport, TriggerInput } from "./trigger-input.ts";
export type { CallVoice, VoicePart, VoiceTarget } from "./voice.ts";

/** A device that a plugin has found or serves by its configuration. Attribute values are strings. */
export interface DeviceReport {
  deviceIdentifier: string;
  type: "phones" | "speakers" | "plugins" | "idns";
  /** An empty one leaves what stands there. */
  description: string;
  attributes: Record<string, string>;
}

/**
 * What a quiet test of a device found: the device `answered`; the appliance heard itself where the device listens
 * (`looped`), which says nothing of the device; nothing (null, `reason` in words for people); or it can't be tested.
 */
export interface ProbeResult {
  proof: "answered" | "looped" | "untested" | null;
  reason?: string;
}

/** Tests the way to a device without anybody hearing or seeing it; is given up after 10 s. */
export type ProbeHandler = (device: DeliveryItem["device"]) => Promise<ProbeResult>;

/** A request that arrives at a plugin's own port or route. */
export interface PluginRequest {
  method: string;
  /** Path and query as sent, beginning with `/`; a route's prefix `/x/<plugin>` is cut off. */
  url: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** At most 64 KiB. */
  body: Uint8Array;
  remoteAddress: string;
}

/** A plugin's answer; `body` text is sent as UTF-8. */
export interface PluginResponse {
  status: number;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
}

/** Handles one request; may be slow, is cut off after 10 s. */
export type PluginRequestHandler = (request: PluginRequest) => Promise<PluginResponse> | PluginResponse;

/** The events of the core that a plugin may follow; each is a hint. */
export type PluginEvents = Pick<EventMap, "notification.accepted" | "notification.stopped" | "notification.settled">;

/** A plugin's log: pino's levels, one object of plain values and a message. */
export interface PluginLog {
  debug(values: Record<string, unknown>, message: string): void;
  info(values: Record<string, unknown>, message: string): void;
  warn(values: Record<string, unknown>, message: string): void;
  error(values: Record<string, unknown>, message: string): void;
}

/**
 * The only door between a plugin and Carillon. Everything passed is structured-cloneable.
 * What a plugin registers here is undone in reverse order when it stops or when `activate` throws.
 */
export interface PluginContext<C = Readonly<Record<string, unknown>>> {
  /** The checked configuration, secrets in the clear. */
  readonly config: C;
  readonly log: PluginLog;
  /** Aborts when the plugin must stop. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Public URLs of own ports by name; filled by `listen`. */
  readonly urls: Readonly<Record<string, string>>;
  /** Where the main server is reached, without a slash at its end: routes lie below `/x/<plugin>`. */
  readonly baseUrl: string;
  /** Takes devices to reach, in batches of at most 200; the host keeps at most the manifest's `window` without outcome. */
  deliver(handler: (batch: DeliveryItem[]) => void): void;
  /** Takes deliveries that are called off: silence the devices, then report. */
  stop(handler: (request: StopRequest) => void): void;
  /** Takes quiet tests of its devices, many at once. Without, its devices are not tested. */
  probe(handler: ProbeHandler): void;
  /** Reports proof; any time, any number of times, levels only ever rise. */
  outcome(deliveryId: number, level: OutcomeLevel, details?: OutcomeDetails): void;
  stream: {
    /** Asks the core's streamer to send this notification's audio to one more target; the plugin never sends RTP. */
    open(target: Omit<AudioTarget, "ssrc">, notificationId: string): Promise<void>;
    /** Ends the stream to a target before the sound is over, because nobody listens there any more. */
    close(target: Pick<AudioTarget, "group" | "port">, notificationId: string): Promise<void>;
  };
  voice: CallVoice;
  rings: Rings;
  /** A recipient's answer to a confirmation request; gives what the recipient is to be told, null for nothing. */
  confirm(recipientId: string, option: string): Promise<string | null>;
  /** A text message from a person: an answer, or a word to join or leave; resolves when it is stored. */
  receive(message: TextMessage): Promise<TextReply>;
  /** Starts a message from outside; resolves when the input is stored. */
  trigger(input: TriggerInput): Promise<void>;
  devices: {
    /** Makes or updates devices of this appliance; identifiers must match the plugin's claims. */
    report(devices: DeviceReport[]): Promise<void>;
  };
  /**
   * Opens the own port `name` (address and port from the settings) and resolves with its public URL, whose path is
   * `/<name>`; the handler gets every path. Rejects when the manifest does not name it or the port is taken.
   */
  listen(name: string, handler: PluginRequestHandler): Promise<string>;
  /** Serves `/x/<plugin>/<path>` and what lies below it on the main server. `path` has no leading slash. */
  route(path: string, handler: PluginRequestHandler): void;
  state: {
    /** Small durable values; undefined when never set. */
    get(key: string): Promise<unknown>;
    set(key: string, value: unknown): Promise<void>;
  };
  resources: {
    /** Hints that a row of the resource named `path` (`devices`) changed; needs the manifest's grant. */
    watch(path: string, handler: (change: { id: string; op: "create" | "update" | "delete" }) => void): void;
    /** The rows of a resource that the manifest grants to watch (`callmgr-clusters`), without secrets; at most 1,000. */
    list(path: string): Promise<Record<string, unknown>[]>;
  };
  /** A single outgoing call under the address policy: no redirects, limits on time and size. */
  fetch(
    url: string,
    options?: {
      method?: string;
      headers?: Record<string, string>;
      body?: string | Uint8Array;
      timeoutMs?: number;
    },
  ): Promise<{ status: number; headers: Record<string, string>; body: string }>;
  every(periodMs: number, handler: () => void): void;
  /** Follows an event of the core. */
  onEvent<K extends keyof PluginEvents>(name: K, handler: (payload: PluginEvents[K]) => void): void;
  /** The plugin's own word on its health, shown beside the extension. */
  status(state: "ok" | "degraded" | "down", reason?: string): void;
}

/** The fields of a plugin's configuration. */
export type ConfigFields = Readonly<Record<string, Field>>;

/** The checked configuration that belongs to `F`: null for what is neither set nor has a default. */
export type ConfigOf<F extends ConfigFields> = {
  readonly [K in keyof F]: F[K] extends { required: true } | { default: unknown }
    ? ValueOf<F[K]>
    : ValueOf<F[K]> | null;
};

/** What a plugin is: the fields of its configuration and what to do when it is started. */
export interface PluginDefinition<F extends ConfigFields = ConfigFields> {
  config: F;
  /** Starts the plugin; it runs once this has returned, and has failed when it throws or takes more than 10 s. */
  activate(ctx: PluginContext<ConfigOf<F>>): Promise<void> | void;
}

/**
 * Declares a plugin: `export default definePlugin({ config, activate })` in its index.ts, with `config` the default
 * export of its config.ts, which the core reads without starting the plugin. Fields that config.ts exports as `profile` are
 * what notification profiles may say of the plugin; they reach it with every delivery as `settings`.
 */
export function definePlugin<const F extends ConfigFields>(definition: PluginDefinition<F>): PluginDefinition<F> {
  return definition;
}

/** What an attribute of a device must be: a whole number within bounds, one of some words, or a text of a form. */
export type AttributeRule =
  | { from: number; to: number }
  | { values: readonly string[] }
  | {
      /** Linear-time pattern. */
      pattern: string;
      /** What fits it, after "It is": `an address such as 239.1.2.3`. */
      words: string;
    };

/** `plugin.json`: what the core knows of a plugin without starting it. */
export interface PluginManifest {
  name: string;
  version: string;
  description: string;
  /** Type of its extension row. */
  extensionType: "device" | "device-filter" | "endpoint-proxy" | "collaboration" | "report";
  /** User device type it serves, for type `device`. */
  deviceType?: string;
  /** Devices it is the provider of; `identifier` is a linear-time pattern, `attributes` what theirs must be where given. */
  claims: {
    type: "phones" | "speakers" | "plugins" | "idns";
    identifier: string;
    attributes?: Record<string, AttributeRule>;
  }[];
  /**
   * Its devices are called one by one: each has a stream of its own opened by the plugin, and a call to be ended. A call to
   * a person's device lasts as long as that takes: its delivery ends with `last`, or with an answer.
   */
  calls?: boolean;
  /** Items without outcome at once. */
  window: number;
  /** Started when nothing is configured. */
  enabledByDefault: boolean;
  /** Names of the ports it opens by `listen`. */
  listens: string[];
  /** Names of the resources it may watch. */
  watches: string[];
  /** It is told of the rings to come (`ctx.rings`). */
  rings?: boolean;
  /** Packages it imports. */
  packages: string[];
  /** Plugins of the product whose files it uses. */
  builtOn?: string[];
  /** MiB of JavaScript objects it may hold; 128 unless given. */
  memoryMb?: number;
  /** Activity type written when the extension can't be reached while sending. */
  failureCode?: string;
}

/** What a peer may know of the plugin that it stands opposite to. */
export interface PeerDeps {
  /** URLs of the plugin's open own ports by `<plugin>/<name>`; asked when needed, since they open with the plugin. */
  urls(): Readonly<Record<string, string>>;
  /** Sends a request to the plugin's route, as the main server does; there is none where the plugin runs without one. */
  route?(request: PluginRequest): Promise<PluginResponse | null>;
}

/**
 * A device on loopback that takes everything a plugin sends and stays mute: it never shows that anybody hears or sees
 * anything. Every plugin is run against one and must not report more than the peer gave it.
 */
export interface MutePeer {
  /** Configuration of the plugin, secrets in the clear. */
  readonly config: Record<string, unknown>;
  /** The device to deliver to, with the attributes that lead to the peer. */
  readonly device: DeliveryItem["device"];
  /** What the peer's taking proves: the plugin must report this level, and none above it. */
  readonly proves: "sent" | "accepted";
  /** Resolves once the plugin knows the peer, for one that has to come by itself. */
  ready?(): Promise<void>;
  /**
   * Resolves when the plugin has asked for further proof and was shown that there is none; at once for a channel that
   * has no such question.
   */
  asked(): Promise<void>;
  close(): Promise<void>;
}

/** Default export of a plugin's `peer.ts`. */
export type OpenMutePeer = (needs: PeerDeps) => Promise<MutePeer>;
