import { sleep, yieldToEventLoop } from "../../lib/clock.ts";
import { BugError } from "../../lib/errors.ts";
import type { RenderedAudio } from "../../media/rendered-audio.ts";
import type { Streamer } from "../../media/streamer.ts";
import type { DeliveryItem } from "../../plugin-api/index.ts";
import notifications from "../../resources/notifications/notifications.ts";
import { imagePathOf, renderedAudioFor } from "../compose/audio-rendering.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { parseEffectiveSettings, parseSendingProfile } from "../compose/sending-profile.ts";
import { hasPendingRecipients } from "../recipients/deferred-recipients.ts";
import { type ActiveBroadcast, createActiveBroadcast } from "./active-broadcast.ts";
import type { ActiveBroadcastRegistry } from "./active-broadcast-registry.ts";
import type { ActiveBroadcastDeps } from "./active-broadcast-state.ts";
import { addActivity } from "./activity-log.ts";
import { suppressedDevices } from "./bell-suppression.ts";
import { type BroadcastAudio, type BroadcastAudioDeps, createBroadcastAudio } from "./broadcast-audio.ts";
import { cancellationReason } from "./cancellation-state.ts";
import { readCounters } from "./counters.ts";
import type { Delivery } from "./delivery.ts";
import { createSharedItem, multicastTargetOf, streamTargetOf } from "./delivery-item.ts";
import { APPLIANCES_PROVIDER, type DeliveryProviders, providerSettings } from "./delivery-providers.ts";
import type { EmergencyPrecedence } from "./emergency-precedence.ts";
import { type HoldRegistry, isHeld } from "./hold-registry.ts";
import type { DeliveryLedger } from "./ledger.ts";
import { loadOpenDeliveries } from "./ledger-loader.ts";
import { preemptMulticastGroups } from "./multicast-preemption.ts";
import type { PipelineStageDeps } from "./pipeline-stage.ts";
import { decideResume, type ResumeDecision } from "./resume-policy.ts";
import { findUnresponsiveDevices } from "./unresponsive-devices.ts";

/** Puts messages on air from their rows, whether they are new or were left by an earlier run. */
export interface BroadcastActivator {
  /** The message on air; it is put there by the first call. */
  activate(notificationId: string): Promise<ActiveBroadcast>;
  /** Adds rows that were made after the message went on air. */
  addDeferredDeliveries(live: ActiveBroadcast): Promise<void>;
  deactivate(notificationId: string): void;
}

/** What putting messages on air needs. */
export interface BroadcastActivatorDeps extends PipelineStageDeps {
  streamer: Pick<Streamer, "open" | "startGroup" | "setRepeats" | "end" | "on">;
  /** Own IPv4 address on the network that multicast goes to. */
  interfaceAddress: string;
  /** Hops that the packets of pooled streams may take. */
  ttl: number;
  ledger: DeliveryLedger;
  activeBroadcasts: ActiveBroadcastRegistry;
  holds: HoldRegistry;
  emergencyPrecedence: EmergencyPrecedence;
}

/** What the stages from deliver on need. */
export interface EngineDeps extends BroadcastActivatorDeps {
  activator: BroadcastActivator;
}

/** Longest wait for channels to hear of devices that they are then told to silence. own choice */
const FOLLOW_UP_TIMEOUT_MS = 5_000;

/** The emergency class. @source interfaces.md, Priorities */
const EMERGENCY = 0;

/** Between turns of the event loop, which may be long while many other messages are sent. own choice */
const EMERGENCY_YIELD_AFTER_MS = 10;

function noDevices(): ReadonlySet<number> {
  return new Set();
}

/** Makes the way on air. */
export function createBroadcastActivator(needs: BroadcastActivatorDeps): BroadcastActivator {
  const { activeBroadcasts } = needs;
  const activations = new Map<string, Promise<ActiveBroadcast>>();
  const deactivate = (notificationId: string): void => {
    activations.delete(notificationId);
    needs.events.emit("notification.audio-ended", { notificationId });
    activeBroadcasts.unregister(notificationId);
    needs.holds.forget(notificationId);
  };
  return {
    activate(notificationId) {
      const found = activations.get(notificationId);
      if (found !== undefined) return found;
      const put = activateBroadcast(notificationId, needs);
      activations.set(notificationId, put);
      put.catch(() => deactivate(notificationId));
      return put;
    },
    async addDeferredDeliveries(live) {
      await loadRows(live, needs, { again: false, givenUp: null, silenced: noDevices() });
      live.markAllAdded();
    },
    deactivate,
  };
}

async function activateBroadcast(notificationId: string, needs: BroadcastActivatorDeps): Promise<ActiveBroadcast> {
  const { clock, store, activeBroadcasts } = needs;
  let row = store.get(notifications, notificationId);
  if (!row) throw new BugError("No such notification.", { notificationId });
  const stopped = cancellationReason(row, clock.now());
  const how = stopped
    ? "finish"
    : isHandedToAppliances(row, store)
      ? "carried"
      : decideResume(storedOf(row), clock.now());
  if (how === "again") row = await restartFromBeginning(row, needs);
  const live = await createFromRow(row, how, needs);
  activeBroadcasts.register(live);
  const givenUp = how === "finish" || how === "interrupted" ? END_REASONS[stopped ?? how] : null;
  const silenced = isHeld(row) ? suppressedDevices(row, store, clock.now()) : noDevices();
  live.setAlreadyListening(preemptMulticastGroups(live, activeBroadcasts.all(), needs));
  await loadRows(live, needs, { again: how === "again", givenUp, silenced });
  live.markAllAdded();
  if (how === "interrupted") await logActivity(row, "broadcast-failed", END_REASONS.interrupted, needs);
  if (how === "resume" && live.sound) await logActivity(row, "info", gapMessage(row, clock.now()), needs);
  if (how === "finish" || how === "interrupted") await finishInterrupted(live, stopped ?? how, needs);
  // It could not be made again: nothing more is to be heard by those who have joined.
  else if (!live.sound && row.t0 !== null && how !== "carried") live.handleAudioEnd();
  return live;
}

/** An earlier run handed it to appliances, which carry it out and tell, whatever this one does. */
function isHandedToAppliances({ pk }: NotificationRow, store: BroadcastActivatorDeps["store"]): boolean {
  // Of one that is new, no row need be looked at.
  if (!readCounters(store, [pk]).get(pk)?.get("activity:broadcast-started")) return false;
  const open = `SELECT 1 FROM deliveries
    WHERE notification_pk = ? AND provider = ? AND attempt > 0 AND ended_at IS NULL LIMIT 1`;
  return store.one(open, pk, APPLIANCES_PROVIDER) !== null;
}

function storedOf(row: NotificationRow) {
  const { t0, streamEndedAt, programmeMs } = row;
  return {
    t0,
    streamEndedAt,
    programmeMs,
    notAfter: row.notAfter ?? row.createdAt,
    emergency: row.priorityLevel === 0,
  };
}

/** The emergency gets as much time as it had at first. */
async function restartFromBeginning(
  row: NotificationRow,
  { store, clock, laneOf, endpointId, by }: BroadcastActivatorDeps,
) {
  const notAfter = clock.now() + Math.max(0, (row.notAfter ?? row.createdAt) - (row.retriedAt ?? row.createdAt));
  await store.write(
    (tx) => {
      tx.run(
        "UPDATE notifications SET t0 = NULL, stream_ended_at = NULL, not_after = ? WHERE pk = ?",
        notAfter,
        row.pk,
      );
      const details = { message: "The appliance was not running: the message starts again from the beginning." };
      addActivity(tx, { notificationId: row.id, type: "info", endpointId: endpointId(), details }, by);
    },
    laneOf(row.priorityLevel ?? 5),
  );
  return { ...row, t0: null, streamEndedAt: null, notAfter };
}

async function createFromRow(
  row: NotificationRow,
  how: ResumeDecision | "carried",
  needs: BroadcastActivatorDeps,
): Promise<ActiveBroadcast> {
  const { clock, store, activeBroadcasts, laneOf } = needs;
  const lane = laneOf(row.priorityLevel ?? 5);
  const isBell = row.notificationSource === "bell-schedule";
  const target = multicastTargetOf(row, needs.ttl);
  const moment = (column: "t0" | "stream_ended_at", at: number): void => {
    store
      .write((tx) => void tx.run(`UPDATE notifications SET ${column} = ? WHERE pk = ?`, at, row.pk), lane)
      .catch((error) => needs.log.error({ err: error, notificationId: row.id }, "moment of the sound not stored"));
  };
  const sounds = how === "begin" || how === "resume" || how === "again";
  const sound = sounds
    ? await createAudio(row, needs, {
        hasPendingStreams: () => live.hasPendingStreams(),
        wouldBeMissed: (endsAt) => live.wouldBeMissed(endsAt),
        onEnd() {
          moment("stream_ended_at", clock.now());
          needs.events.emit("notification.audio-ended", { notificationId: row.id });
          live.handleAudioEnd();
        },
      })
    : null;
  if (sound && row.t0 !== null) {
    sound.resume(row.t0);
    needs.events.emit("notification.audio-started", { notificationId: row.id, at: clock.now() });
  }
  const hasGroup = sound ? await openMulticastGroup(row, sound, needs) : target !== null;
  const profile = parseSendingProfile(row);
  const live: ActiveBroadcast = createActiveBroadcast({
    clock,
    providers: needs.providers,
    dispatcher: activeBroadcasts.dispatcher,
    ledger: needs.ledger,
    shared: createSharedItem(row, row.notAfter ?? row.createdAt, imagePathOf(row, store.files)),
    callsUntil: callsUntil(row),
    settingsFor: settingsByProvider(row, needs.providers),
    // A bell that is heard late tells the wrong time.
    canQueue: !isBell && profile.queueingAllowed,
    synchronizedStart: profile.synchronizedStart,
    singleAttempt: profile.skipUnresponsiveRecipients && row.priorityLevel !== 0,
    rank: isBell ? (profile.priority ?? 5) : null,
    soundsAt: row.heldUntil,
    held: isHeld(row),
    abandoned: !sounds && how !== "carried",
    sound,
    singlePassMs: sound && singlePassMs(sound.durationMs, profile),
    targets: targetsOf(row, hasGroup, needs.ttl),
    hasPendingRows: () => hasPendingRecipients(store, row.id),
    onAudioStarted(t0) {
      moment("t0", t0);
      needs.events.emit("notification.audio-started", { notificationId: row.id, at: t0 });
    },
  });
  if (isHeld(row)) needs.holds.onStart(row.id, live.startAt);
  return live;
}

/** Of what goes on until the message ends, or is spoken at this moment, nobody knows: null. */
function singlePassMs(
  durationMs: number | null,
  { repetitions, repetitionPauseMs, repeatIndefinitely }: ReturnType<typeof parseSendingProfile>,
): number | null {
  if (durationMs === null || repeatIndefinitely) return null;
  return (durationMs - repetitionPauseMs * (repetitions - 1)) / repetitions;
}

/** How much longer people are called than devices are asked, where the message does not expire. own choice */
const EXTRA_CALL_TIME_MS = { emergency: 45 * 60_000, routine: 28 * 60_000 } as const;

function callsUntil({ notAfter, createdAt, expiresAt, priorityLevel }: NotificationRow): number {
  const more = expiresAt === null ? EXTRA_CALL_TIME_MS[priorityLevel === 0 ? "emergency" : "routine"] : 0;
  return (notAfter ?? createdAt) + more;
}

function targetsOf(row: NotificationRow, hasGroup: boolean, ttl: number): ActiveBroadcastDeps["targets"] {
  const own = streamTargetOf(row, ttl);
  return { group: hasGroup ? multicastTargetOf(row, ttl) : null, own, call: own };
}

/** What the settings of a message say of each provider, put together once. */
function settingsByProvider(
  row: NotificationRow,
  providers: DeliveryProviders,
): (provider: string) => DeliveryItem["settings"] {
  const settings = parseEffectiveSettings(row);
  const known = new Map<string, DeliveryItem["settings"]>();
  return (provider) => {
    const found = known.get(provider) ?? providerSettings(provider, settings, providers).value;
    known.set(provider, found);
    return found;
  };
}

async function createAudio(
  row: NotificationRow,
  needs: BroadcastActivatorDeps,
  course: Pick<BroadcastAudioDeps, "hasPendingStreams" | "wouldBeMissed" | "onEnd">,
): Promise<BroadcastAudio | null> {
  const programme = await renderAudioWithRetry(row, needs);
  if (!programme || row.ssrc === null) return null;
  return createBroadcastAudio({
    clock: needs.clock,
    streamer: needs.streamer,
    notificationId: row.id,
    ssrc: row.ssrc,
    programme,
    synchronizedStart: parseSendingProfile(row).synchronizedStart,
    interfaceAddress: needs.interfaceAddress,
    ...course,
    onLost: () => void logActivity(row, "broadcast-failed", "The streamer failed: the sound was cut off.", needs),
  });
}

/** A message must not stay unseen because it can't be heard. */
async function renderAudioWithRetry(
  row: NotificationRow,
  needs: BroadcastActivatorDeps,
): Promise<RenderedAudio | null> {
  try {
    return await renderedAudioFor(row, needs).catch(() => renderedAudioFor(row, needs));
  } catch (error) {
    needs.log.error({ err: error, notificationId: row.id }, "no sound");
    await logActivity(row, "broadcast-failed", "The sound could not be made; the message is shown only.", needs);
    return null;
  }
}

/** Opens the stream that phones join; false when there are none, or when it can't be opened. */
async function openMulticastGroup(
  row: NotificationRow,
  sound: BroadcastAudio,
  needs: BroadcastActivatorDeps,
): Promise<boolean> {
  const target = multicastTargetOf(row, needs.ttl);
  const phones = needs.store.one(
    "SELECT 1 FROM deliveries WHERE notification_pk = ? AND type = 'phones' AND ended_at IS NULL LIMIT 1",
    row.pk,
  );
  if (!target || !phones) return false;
  try {
    await sound.openStream(target);
    return true;
  } catch (error) {
    needs.log.error({ err: error, notificationId: row.id }, "pooled stream not opened");
    await logActivity(
      row,
      "broadcast-failed",
      "The stream for phones could not be opened; they only show the message.",
      needs,
    );
    return false;
  }
}

async function logActivity(
  row: NotificationRow,
  type: "broadcast-failed" | "info",
  message: string,
  { store, by, endpointId, log }: BroadcastActivatorDeps,
): Promise<void> {
  await store
    .write((tx) => {
      const values = { notificationId: row.id, type, endpointId: endpointId() };
      addActivity(tx, { ...values, details: { message } }, by);
    })
    .catch((error) => log.error({ err: error, notificationId: row.id }, "activity not written"));
}

/** The ledger says of each device that it plays, but not that there was a hole in what it played. */
function gapMessage({ t0 }: NotificationRow, now: number): string {
  const second = Math.max(1, Math.round((now - (t0 ?? now)) / 1_000));
  return `The appliance was not running for a time: the sound went on at its second ${second}, part of what came before was not heard.`;
}

/**
 * `givenUp`: what was not reached ends with these words instead of being asked; `silenced`: keys of devices that are left
 * alone. Other messages give way to an emergency, but for what has a moment of its own.
 */
async function loadRows(
  live: ActiveBroadcast,
  needs: BroadcastActivatorDeps,
  { again, givenUp, silenced }: { again: boolean; givenUp: string | null; silenced: ReadonlySet<number> },
): Promise<void> {
  const { clock, emergencyPrecedence } = needs;
  const isUrgent = live.priority === EMERGENCY;
  let began = clock.monotonicMs();
  for (const page of loadOpenDeliveries(live, needs.store, again, needs.providers)) {
    needs.signal.throwIfAborted();
    if (givenUp !== null) for (const delivery of page) delivery.reached ||= mayHaveJoined(delivery);
    needs.activeBroadcasts.addDeliveries(live, page);
    const silent = live.skipsUnresponsive ? findUnresponsiveDevices(page, needs.store, clock.now()) : noDevices();
    for (const delivery of page) {
      if (givenUp !== null && !delivery.reached) live.end(delivery, "expired", givenUp);
      else if (silent.has(delivery.device ?? 0)) live.end(delivery, "skipped", END_REASONS.unresponsive);
      else if (silenced.has(delivery.device ?? 0)) live.end(delivery, "skipped", END_REASONS.silenced);
    }
    if (isUrgent && clock.monotonicMs() - began < EMERGENCY_YIELD_AFTER_MS) continue;
    await yieldToEventLoop(clock);
    if (!isUrgent && live.soundsAt === null) await emergencyPrecedence.waitForEmergencies();
    began = clock.monotonicMs();
  }
}

/** It was asked, and the answer may have been lost with the process: it is silenced like those that had answered. */
function mayHaveJoined({ audioMode, attempt }: Delivery): boolean {
  return audioMode === "group" && attempt > 0;
}

/** Ends what an earlier run left: channels first hear of what they are to silence. */
async function finishInterrupted(
  live: ActiveBroadcast,
  how: "finish" | "interrupted" | "aborted" | "expired",
  needs: BroadcastActivatorDeps,
) {
  const patience = new AbortController();
  const late = sleep(needs.clock, FOLLOW_UP_TIMEOUT_MS, AbortSignal.any([patience.signal, needs.signal])).catch(
    () => {},
  );
  await Promise.race([live.handedOver, late]);
  patience.abort();
  needs.signal.throwIfAborted();
  if (how === "finish") live.handleAudioEnd();
  else live.halt(how);
}

const END_REASONS = {
  finish: "The sound was over before it answered.",
  interrupted: "The appliance was not running and came back too late.",
  aborted: "Somebody ended the message.",
  expired: "The message has expired.",
  unresponsive: "It did not answer the last messages, and this message leaves such devices out.",
  silenced: "An emergency silences the bells here until its all-clear.",
};
