import { randomBytes } from "node:crypto";
import {
  type DeliveryItem,
  type OutcomeDetails,
  type PluginContext,
  SRTP_MASTER_KEY_BYTES,
  type SrtpMasterKey,
  type StopRequest,
} from "#plugin-api";
import type { AgentCommand, AgentConnection, AgentConnections } from "./agent-connections.ts";
import type { AgentEvent } from "./agent-messages.ts";
import { sentence } from "./sentences.ts";
import { type SpeakerSettings, volumePercent } from "./speaker-rules.ts";

export interface SpeakerDeliveries {
  start(items: readonly DeliveryItem[]): void;
  stop(request: StopRequest): void;
  /** False for a play command of a cancelled or failed delivery. */
  isWanted(command: AgentCommand): boolean;
  /** Handles events of an agent. */
  handleEvents(link: AgentConnection, events: readonly AgentEvent[]): void;
  /** Drops deliveries that were never stopped, long after `notAfter`. */
  sweep(): void;
}

export interface SpeakerDeliveriesDeps extends Pick<PluginContext, "clock" | "outcome" | "stream"> {
  links: AgentConnections;
  /** Settings of a speaker; null if not registered. */
  settingsOf(mac: string): SpeakerSettings | null;
  /** The agent plays encrypted streams. */
  supportsSrtp(mac: string): boolean;
  /** Address that streams to this address come from; null if not known yet. */
  sourceTowards(address: string): string | null;
}

interface SpeakerDelivery {
  item: DeliveryItem;
  mac: string;
  /** Playback delay of the speaker. */
  delayMs: number;
  /** Key of the stream; undefined for agents of an earlier version. */
  secrecy: SrtpMasterKey | undefined;
  /** Target of the stream once opened. */
  target: { group: string; port: number } | null;
}

/** An agent with a waiting poll responds within some ms. */
const RESPONSE_TIMEOUT_MS = 5_000;
/**
 * After the last packet: playback delay of the agent, 2 s until it knows that the stream ended, and the evaluation of
 * its recording.
 */
const FINAL_EVENTS_MS = 8_000;
const RETENTION_MS = 3_600_000;

/** Runs deliveries: send play, open the stream on acceptance, follow events, send stop. */
export function createSpeakerDeliveries({
  clock,
  outcome,
  stream,
  links,
  settingsOf,
  supportsSrtp,
  sourceTowards,
}: SpeakerDeliveriesDeps): SpeakerDeliveries {
  const deliveries = new Map<number, SpeakerDelivery>();

  const fail = (deliveryId: number, reason: string, retryable: boolean): void => {
    deliveries.delete(deliveryId);
    outcome(deliveryId, "failed", { reason, retryable });
  };

  const startDelivery = (item: DeliveryItem): void => {
    const { deliveryId, notificationId, audio, priority, device, profile } = item;
    const mac = device.deviceIdentifier.slice("agent:".length);
    const settings = settingsOf(mac);
    if (!audio) outcome(deliveryId, "failed", { reason: sentence("no-display"), unsupported: true });
    else if (device.attributes.IsConfigured === "false")
      outcome(deliveryId, "failed", { reason: NOT_CONFIGURED, inconclusive: true });
    else if (!settings) fail(deliveryId, sentence("no-agent"), false);
    else {
      const delayMs = settings.delayMs || item.holdMs || 0;
      const volume = volumePercent(profile.volume, settings);
      const { ssrc } = audio;
      const link = links.find(mac);
      const source = link && sourceTowards(link.address);
      const secrecy = supportsSrtp(mac) ? createStreamKey() : undefined;
      sendPlay(
        { item, mac, delayMs, secrecy, target: null },
        {
          ...{ kind: "play", deliveryId, notificationId, ssrc, volume, delayMs, priority, source },
          ...(secrecy && { secrecy }),
        },
      );
    }
  };

  const sendPlay = (delivery: SpeakerDelivery, command: Extract<AgentCommand, { kind: "play" }>): void => {
    const { deliveryId } = command;
    deliveries.set(deliveryId, delivery);
    if (!links.sendCommand(delivery.mac, command)) fail(deliveryId, NOT_CONNECTED, true);
    clock.after(RESPONSE_TIMEOUT_MS, () => {
      if (deliveries.get(deliveryId) === delivery && !delivery.target)
        fail(deliveryId, links.find(delivery.mac) ? NO_RESPONSE : NOT_CONNECTED, true);
    });
  };

  const openStream = async (delivery: SpeakerDelivery, link: AgentConnection): Promise<void> => {
    const { deliveryId, notificationId, audio } = delivery.item;
    if (!audio || delivery.target) return;
    delivery.target = { group: link.address, port: link.port };
    outcome(deliveryId, "accepted");
    try {
      const { target, secrecy } = delivery;
      await stream.open({ ...target, codec: "PCMU", ttl: audio.ttl, ...(secrecy && { secrecy }) }, notificationId);
    } catch (error) {
      // A delivery cancelled in the meantime needs no stream.
      if (deliveries.get(deliveryId) === delivery)
        fail(deliveryId, sentence("stream-failed", { error: errorMessage(error) }), true);
    }
  };

  const handleEvent = (event: AgentEvent, delivery: SpeakerDelivery, link: AgentConnection): void => {
    const { deliveryId } = event;
    const { delayMs: heldMs } = delivery;
    if (event.kind === "accepted") void openStream(delivery, link);
    else if (event.kind === "started")
      outcome(deliveryId, "playing", event.at === null ? {} : { started: { at: event.at, model: link.model, heldMs } });
    else if (event.kind === "heard") outcome(deliveryId, "heard", matchOf(event));
    else if (event.kind === "unheard")
      outcome(deliveryId, "playing", { reason: event.words || NOT_HEARD, ...matchOf(event) });
    else if (event.kind === "alone") finishPlayedOffline(deliveryId);
    else if (event.kind === "failed") fail(deliveryId, event.words || sentence("playback-failed"), true);
    else if (event.words !== "") outcome(deliveryId, "playing", { reason: event.words });
  };

  const finishPlayedOffline = (deliveryId: number): void => {
    if (deliveries.delete(deliveryId)) outcome(deliveryId, "playing", { reason: PLAYED_OFFLINE, last: true });
  };

  const close = ({ item: { deliveryId } }: SpeakerDelivery): void => {
    if (deliveries.delete(deliveryId)) outcome(deliveryId, "accepted");
  };
  const cancel = (delivery: SpeakerDelivery, hasExpired: boolean): void => {
    const { mac, target, item } = delivery;
    links.sendCommand(mac, { kind: "stop", deliveryId: item.deliveryId });
    if (target) stream.close(target, item.notificationId).catch(() => undefined);
    if (target) close(delivery);
    else if (deliveries.delete(item.deliveryId))
      outcome(item.deliveryId, hasExpired ? "expired" : "skipped", {
        reason: sentence("cancelled"),
      });
  };

  return {
    start(items) {
      for (const item of items) startDelivery(item);
    },
    stop({ deliveryIds, reason }) {
      for (const deliveryId of deliveryIds) {
        const delivery = deliveries.get(deliveryId);
        if (!delivery) continue;
        // Finished audio plays out, and its agent may send a final event.
        if (reason === "ended") clock.after(FINAL_EVENTS_MS, () => close(delivery));
        else cancel(delivery, reason === "expired");
      }
    },
    isWanted: (command) => command.kind !== "play" || deliveries.has(command.deliveryId),
    handleEvents(link, events) {
      for (const event of events) {
        const delivery = deliveries.get(event.deliveryId);
        // An agent may report only on its own deliveries.
        if (delivery?.mac === link.mac) handleEvent(event, delivery, link);
      }
    },
    sweep() {
      const before = clock.now() - RETENTION_MS;
      for (const [id, { item }] of deliveries) if (item.notAfter < before) deliveries.delete(id);
    },
  };
}

/** A new key for each stream: what is recorded of another one cannot be played again. */
function createStreamKey(): SrtpMasterKey {
  return { suite: "AES_CM_128_HMAC_SHA1_80", key: randomBytes(SRTP_MASTER_KEY_BYTES).toString("base64") };
}

/** The end of the recording is evaluated after the message has ended. */
function matchOf({ detection }: AgentEvent): OutcomeDetails {
  return { afterwards: true, ...(detection && { match: detection }) };
}

const NOT_CONFIGURED = sentence("not-accepted");
const NOT_CONNECTED = sentence("not-connected");
const NO_RESPONSE = sentence("no-response", { seconds: RESPONSE_TIMEOUT_MS / 1_000 });
const PLAYED_OFFLINE = sentence("played-offline");
const NOT_HEARD = sentence("not-heard");

function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
