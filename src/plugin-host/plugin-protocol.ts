import type {
  AccountMessage,
  AudioCodec,
  DeliveryItem,
  DeviceFilterRequest,
  DeviceFilterResult,
  OutcomeDetails,
  OutcomeLevel,
  PluginEvents,
  PluginReport,
  PluginReportCell,
  PluginReportRequest,
  PluginRequest,
  PluginResponse,
  ProbeResult,
  StopRequest,
} from "../plugin-api/index.ts";

/** Listen address of a plugin port, and the URL under which devices reach it (null: derived from host and port). */
export interface PluginPortSettings {
  host: string;
  /** 0: chosen by the system. */
  port: number;
  publicUrl: string | null;
}

/** Initial data of a plugin run. */
export interface PluginInit {
  plugin: string;
  /** Validated, secrets in clear text. */
  config: Record<string, unknown>;
  /** By the names in the manifest's `listens`. */
  ports: Record<string, PluginPortSettings>;
  watches: readonly string[];
  allowedTargets: readonly string[];
  /** Base URL of the main server. */
  baseUrl: string;
  /** Setting `network.multicastInterface`. */
  multicastInterface: string | null;
  /** Setting `site.country`. */
  country?: string | null;
  /** The only folder that an installed plugin writes; absent for those that come with the product. */
  dataFolder?: string;
}

/** One outcome of one delivery; `at` is the time the plugin learned it, epoch ms. */
export interface OutcomeReport {
  deliveryId: number;
  level: OutcomeLevel;
  details: OutcomeDetails;
  at: number;
}

/** Host calls available to plugins. */
export type HostMethod =
  | "stream.open"
  | "stream.close"
  | "voice.prepare"
  | "voice.open"
  | "voice.say"
  | "voice.close"
  | "phone.dial"
  | "phone.connect"
  | "confirm"
  | "receive"
  | "trigger"
  | "devices.report"
  | "resources.list"
  | "rings.planned"
  | "rings.sound"
  | "rings.playedAlone"
  | "rings.behind"
  | "state.get"
  | "state.set";

export type PluginLogLevel = "debug" | "info" | "warn" | "error";

/**
 * Messages from the host to a plugin. `request` is for a route, `probe` a silent connectivity test,
 * `filter` about the devices of a message, `account-message` to send a message, `report` for the lines of a report; `reply` and
 * `refusal` answer a `call`.
 */
export type ToPlugin =
  | { kind: "deliver"; items: DeliveryItem[] }
  | { kind: "stop"; request: StopRequest }
  | { kind: "request"; id: number; request: PluginRequest }
  | { kind: "probe"; id: number; device: DeliveryItem["device"] }
  | { kind: "filter"; id: number; request: DeviceFilterRequest }
  | { kind: "account-message"; id: number; message: AccountMessage }
  | { kind: "report"; id: number; key: string; request: PluginReportRequest }
  | { kind: "reply"; id: number; value: unknown }
  | { kind: "refusal"; id: number; message: string; noNetwork?: true }
  | { kind: "change"; path: string; id: string; op: "create" | "update" | "delete" }
  | { kind: "event"; name: keyof PluginEvents; payload: PluginEvents[keyof PluginEvents] }
  | { kind: "phone-hang-up"; callId: string }
  | { kind: "ping" }
  | { kind: "shutdown" };

/** Messages from a plugin to the host. `active` follows a successful `activate`; `fault` reports an exception. */
export type FromPlugin =
  | { kind: "active" }
  | { kind: "fault"; message: string; stack: string }
  | { kind: "outcomes"; notes: OutcomeReport[] }
  | { kind: "call"; id: number; method: HostMethod; args: unknown[] }
  | { kind: "response"; id: number; response: PluginResponse }
  | { kind: "probed"; id: number; result: ProbeResult }
  | { kind: "filtered"; id: number; result: DeviceFilterResult | { problem: string } }
  | { kind: "account-message-offered" }
  | { kind: "account-message-sent"; id: number; problem: string | null }
  | { kind: "report-offered"; report: PluginReport }
  | { kind: "report-lines"; id: number; lines: readonly (readonly PluginReportCell[])[] }
  | { kind: "reported"; id: number; problem: string | null }
  | { kind: "phone-voice"; callId: string; codec: AudioCodec; payload: Uint8Array }
  | { kind: "phone-key"; callId: string; key: string }
  | { kind: "phone-end"; callId: string }
  | { kind: "log"; level: PluginLogLevel; values: Record<string, unknown>; message: string }
  | { kind: "status"; state: "ok" | "unconfigured" | "degraded" | "down"; reason: string | null }
  | { kind: "listening"; name: string; url: string; port: number }
  | { kind: "watch"; path: string }
  | { kind: "follow"; name: keyof PluginEvents }
  | { kind: "pong" }
  | { kind: "stopped" };

/** Lines of a report, or why there are none, as text for people. */
export type PluginReportResult = { lines: readonly (readonly PluginReportCell[])[] } | { problem: string };

/** One end of the connection between host and plugin; messages arrive as copies and in order. */
export interface PluginConnection<Out, In> {
  send(message: Out): void;
  receive(handler: (message: In) => void): void;
}
