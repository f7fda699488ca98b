import type { DeliveryLevel } from "../../resources/notifications/delivery-levels.ts";

/** Connection settings of a simulated service: host, port, address …, all as strings. */
export type ServiceFacts = Record<string, string>;

/**
 * Target of a channel's message: a person, a device of the appliance, a device that registers itself, or a group of another
 * system.
 */
export type DemoChannelTarget =
  | { kind: "person"; type: string }
  | { kind: "device" }
  | { kind: "registers" }
  | { kind: "group"; type: string; properties: Record<string, unknown> };

/** A channel of the demo. */
export interface DemoChannel {
  name: string;
  /** Plugin that serves the channel. */
  plugin: string;
  /** Simulated service that receives the messages; phones and zones are part of the simulator itself. */
  service: string;
  target: DemoChannelTarget;
  /** Address within the channel, as deliveries show it. */
  address(facts: ServiceFacts): string;
  /** Client identifier of a person's device, if any. */
  clientIdentifier?(facts: ServiceFacts): string;
  /** Attributes of a device. */
  attributes?(facts: ServiceFacts): Record<string, string>;
  /** Configuration of the plugin. */
  config(facts: ServiceFacts): Record<string, unknown>;
  /** The highest delivery level of the channel. */
  proves: DeliveryLevel;
}

/** Join secret of speakers with an agent. */
export const DEMO_JOIN_SECRET = "agents of the demo may join";

/** All channels with a simulated service; phones and multicast zones come from the simulator's device list. */
export const DEMO_CHANNELS: readonly DemoChannel[] = [
  {
    name: "E-mail",
    plugin: "email",
    service: "mail",
    target: { kind: "person", type: "email" },
    address: () => "amara.okafor@school.example",
    config: ({ host, port }) => ({ host, port: Number(port), security: "none", from: "bells@school.example" }),
    proves: "accepted",
  },
  {
    name: "Text message",
    plugin: "sms",
    service: "sms",
    target: { kind: "person", type: "SMS" },
    address: () => "+12025550100",
    config: ({ host, port, systemId, password }) => ({
      host,
      port: Number(port),
      systemId,
      password,
      sender: "+12025550199",
    }),
    proves: "accepted",
  },
  {
    name: "Chat channel",
    plugin: "chat",
    service: "chat",
    target: { kind: "group", type: "msteams-channel", properties: { channel: "Front office" } },
    address: () => "Front office",
    config: ({ url }) => ({ webhooks: `Front office=${url}` }),
    proves: "accepted",
  },
  {
    name: "Alert feed",
    plugin: "cap-out",
    service: "feed",
    target: { kind: "group", type: "outbound-cap", properties: { area: "School grounds" } },
    address: () => "Town",
    config: () => ({ sender: "alerts@school.example", access: "public" }),
    proves: "sent",
  },
  {
    name: "SIP speaker",
    plugin: "sip",
    service: "sip",
    target: { kind: "device" },
    address: () => "sip:gym",
    attributes: ({ uri = "" }) => ({ SipUri: uri }),
    config: () => ({ port: 0, address: "127.0.0.1" }),
    proves: "playing",
  },
  {
    name: "HTTP horn",
    plugin: "http-speakers",
    service: "horn",
    target: { kind: "device" },
    address: () => "algo:yard",
    attributes: ({ url = "", port = "" }) => ({ Url: url, RxPort: port }),
    config: ({ password }) => ({ secrets: `algo:yard=${password}` }),
    proves: "accepted",
  },
  {
    name: "Speaker with agent",
    plugin: "speakers",
    service: "agents",
    target: { kind: "registers" },
    address: () => "",
    config: () => ({ joinSecret: DEMO_JOIN_SECRET }),
    proves: "heard",
  },
  {
    name: "Telephone",
    plugin: "phone-call",
    service: "telephone",
    target: { kind: "person", type: "phone-call" },
    address: () => "+12025550101",
    config: ({ trunk }) => ({ trunk, callerNumber: "+12025550199", port: 0, address: "127.0.0.1" }),
    proves: "heard",
  },
  {
    name: "Desktop",
    plugin: "desktop",
    service: "desktop",
    target: { kind: "person", type: "desktop" },
    address: ({ identifier = "" }) => identifier,
    config: () => ({}),
    proves: "playing",
  },
  {
    name: "Browser",
    plugin: "web-push",
    service: "push",
    target: { kind: "person", type: "web-push" },
    address: ({ endpoint = "" }) => endpoint,
    clientIdentifier: ({ keys = "" }) => keys,
    config: () => ({ contact: "mailto:it@school.example" }),
    proves: "playing",
  },
  {
    name: "Android app",
    plugin: "android-push",
    service: "android",
    target: { kind: "person", type: "Android" },
    address: () => "a-registration-token",
    config: ({ address, serviceAccount }) => ({ address, serviceAccount }),
    proves: "accepted",
  },
  {
    name: "Apple app",
    plugin: "apple-push",
    service: "apple",
    target: { kind: "person", type: "apns" },
    address: () => "0123456789abcdef".repeat(4),
    config: ({ host, port, certificate, key, keyId, teamId, topic }) => ({
      ...{ key, keyId, teamId, topic, host, sandboxHost: host, port: Number(port), certificateAuthority: certificate },
    }),
    proves: "accepted",
  },
];
