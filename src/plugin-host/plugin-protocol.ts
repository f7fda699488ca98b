import type {
  DeliveryItem,
  OutcomeDetails,
  OutcomeLevel,
  PluginEvents,
  PluginRequest,
  PluginResponse,
  ProbeResult,
  StopRequest,
} from "../plugin-api/index.ts";

/** Where an own port of a plugin listens, and under which URL devices reach it (null: made from host and port). */
export interface PluginPortSettings {
  host: string;
  /** 0 lets the system choose. */
  port: number;
  publicUrl: string | null;
}

/** What the plugin's side of the door is told at its start. */
export interface PluginInit {
  plugin: string;
  /** Checked, secrets in the clear. */
  config: Record<string, unknown>;
  /** By the names in the manifest's `listens`. */
  ports: Record<string, PluginPortSettings>;
  /** Names of the resources that the manifest grants to watch. */
  watches: readonly string[];
  allowedTargets: readonly string[];
  /** Where the main server is reached. */
  baseUrl: string;
}

/** One report about one delivery; `at` is epoch ms of the moment the plugin knew. */
export interface OutcomeReport {
  deliveryId: number;
  level: OutcomeLevel;
  details: OutcomeDetails;
  at: number;
}

/** The calls a plugin can make of the host. */
export type HostMethod =
  | "stream.open"
  | "stream.close"
  | "voice.prepare"
  | "voice.open"
  | "voice.say"
  | "voice.close"
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

/** Levels of a plugin's log. */
export type PluginLogLevel = "debug" | "info" | "warn" | "error";

/** From the host to a plugin. `request` is for a route, `probe` a quiet test; `reply` and `refusal` answer a `call`. */
export type ToPlugin =
  | { kind: "deliver"; items: DeliveryItem[] }
  | { kind: "stop"; request: StopRequest }
  | { kind: "request"; id: number; request: PluginRequest }
  | { kind: "probe"; id: number; device: DeliveryItem["device"] }
  | { kind: "reply"; id: number; value: unknown }
  | { kind: "refusal"; id: number; message: string }
  | { kind: "change"; path: string; id: string; op: "create" | "update" | "delete" }
  | { kind: "event"; name: keyof PluginEvents; payload: PluginEvents[keyof PluginEvents] }
  | { kind: "ping" }
  | { kind: "shutdown" };

/** From a plugin to the host. `active` follows a good `activate`, `fault` whatever the plugin threw. */
export type FromPlugin =
  | { kind: "active" }
  | { kind: "fault"; message: string; stack: string }
  | { kind: "outcomes"; notes: OutcomeReport[] }
  | { kind: "call"; id: number; method: HostMethod; args: unknown[] }
  | { kind: "response"; id: number; response: PluginResponse }
  | { kind: "probed"; id: number; result: ProbeResult }
  | { kind: "log"; level: PluginLogLevel; values: Record<string, unknown>; message: string }
  | { kind: "status"; state: "ok" | "degraded" | "down"; reason: string | null }
  | { kind: "listening"; name: string; url: string; port: number }
  | { kind: "watch"; path: string }
  | { kind: "follow"; name: keyof PluginEvents }
  | { kind: "pong" }
  | { kind: "stopped" };

/** One end of the connection between host and plugin; messages arrive as copies, in order. */
export interface PluginConnection<Out, In> {
  send(message: Out): void;
  receive(handler: (message: In) => void): void;
}
