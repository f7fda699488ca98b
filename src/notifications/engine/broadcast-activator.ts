import { yieldToEventLoop } from "../../lib/clock.ts";
import { BugError } from "../../lib/errors.ts";
import type { SentenceReader } from "../../lib/sentences/registry.ts";
import { type Sentence, sentence } from "../../lib/sentences/sentences.ts";
import { within } from "../../lib/waits.ts";
import type { RenderedAudio } from "../../media/rendered-audio.ts";
import type { Streamer } from "../../media/streamer.ts";
import type { DeliveryItem } from "../../plugin-api/index.ts";
import notifications from "../../resources/notifications/notifications.ts";
import { imagePathOf, renderedAudioFor } from "../compose/audio-rendering.ts";
import { deliveryText } from "../compose/delivery-text.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { parseEffectiveSettings, parseSendingProfile } from "../compose/sending-profile.ts";
import { translateServerText } from "../compose/server-text.ts";
import { hasPendingRecipients } from "../recipients/deferred-recipients.ts";
import { type ActiveBroadcast, createActiveBroadcast } from "./active-broadcast.ts";
import type { ActiveBroadcastRegistry } from "./active-broadcast-registry.ts";
import type { ActiveBroadcastDeps } from "./active-broadcast-state.ts";
import { addActivity } from "./activity-log.ts";
import { suppressedDevices } from "./bell-suppression.ts";
import { type BroadcastAudio, type BroadcastAudioDeps, createBroadcastAudio } from "./broadcast-audio.ts";
import { cancellationReason } from "./cancellation-state.ts";
import { catchesUp } from "./catch-up.ts";
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

/** Activates messages from their rows, whether new or left by an earlier run. */
export interface BroadcastActivator {
  /** The active broadcast of a message; the first call activates it. */
  activate(notificationId: string): Promise<ActiveBroadcast>;
  /** Adds rows that were created after activation. */
  addDeferredDeliveries(live: ActiveBroadcast): Promise<void>;
  deactivate(notificationId: string): void;
}

export interface BroadcastActivatorDeps extends PipelineStageDeps {
  streamer: Pick<Streamer, "open" | "startGroup" | "setRepeats" | "end" | "on">;
  /** Interface for multicast by name or IPv4 address; null: as the routes lead. */
  networkInterface: string | null;
  /** TTL of multicast packets. */
  ttl: number;
  /** Reads the sentences of the server and of plugins. */
  sentences: Pick<SentenceReader, "translate">;
  ledger: DeliveryLedger;
  activeBroadcasts: ActiveBroadcastRegistry;
  holds: HoldRegistry;
  emergencyPrecedence: EmergencyPrecedence;
}

export interface EngineDeps extends BroadcastActivatorDeps {
  activator: BroadcastActivator;
}

/** Maximum wait for channels to learn of devices before they must silence them. */
const FOLLOW_UP_TIMEOUT_MS = 5_000;

/** The emergency class. @source docs/decisions/0022-priorities.md */
const EMERGENCY = 0;

/** Yields to the event loop after this time, since a turn may be long while many other messages are sent. */
const EMERGENCY_YIELD_AFTER_MS = 10;

function noDevices(): ReadonlySet<number> {
  return new Set();
}

export function createBroadcastActivator(deps: BroadcastActivatorDeps): BroadcastActivator {
  const { activeBroadcasts } = deps;
  const activations = new Map<string, Promise<ActiveBroadcast>>();
  const deactivate = (notificationId: string): void => {
    activations.delete(notificationId);
    deps.events.emit("notification.audio-ended", { notificationId });
    activeBroadcasts.unregister(notificationId);
    deps.holds.forget(notificationId);
  };
  return {
    activate(notificationId) {
      const found = activations.get(notificationId);
      if (found !== undefined) return found;
      const put = activateBroadcast(notificationId, deps);
      activations.set(notificationId, put);
      put.catch(() => deactivate(notificationId));
      return put;
    },
    async addDeferredDeliveries(live) {
      await loadRows(live, deps, { again: false, givenUp: null, silenced: noDevices() });
      live.markAllAdded();
    },
    deactivate,
  };
}

async function activateBroadcast(notificationId: string, deps: BroadcastActivatorDeps): Promise<ActiveBroadcast> {
  const { clock, store, activeBroadcasts } = deps;
  let row = store.get(notifications, notificationId);
  if (!row) throw new BugError("Notification not found.", { notificationId });
  const stopped = cancellationReason(row, clock.now());
  const how = stopped
    ? "finish"
    : isHandedToAppliances(row, store)
      ? "carried"
      : decideResume(storedOf(row), clock.now());
  if (how === "again") row = await restartFromBeginning(row, deps);
  const { live, hasSoundEnded } = await createFromRow(row, how, deps);
  activeBroadcasts.register(live);
  const givenUp = how === "finish" || how === "interrupted" ? END_REASONS[stopped ?? how] : null;
  const silenced = isHeld(row) ? suppressedDevices(row, store, clock.now()) : noDevices();
  live.setAlreadyListening(preemptMulticastGroups(live, activeBroadcasts.all(), deps));
  await loadRows(live, deps, { again: how === "again", givenUp, silenced });
  live.markAllAdded();
  if (how === "interrupted") await logActivity(row, "broadcast-failed", END_REASONS.interrupted, deps);
  if (how === "resume" && live.sound) await logActivity(row, "info", gapMessage(row, clock.now()), deps);
  if (how === "finish" || how === "interrupted") await finishInterrupted(live, stopped ?? how, deps);
  // The audio could not be made again, or ended meanwhile: silence those that have joined.
  else if ((!live.sound || hasSoundEnded) && row.t0 !== null && how !== "carried") live.handleAudioEnd();
  return live;
}

/** An earlier run handed it to other appliances, which carry it out and report on their own. */
function isHandedToAppliances({ pk }: NotificationRow, store: BroadcastActivatorDeps["store"]): boolean {
  // A new message has no rows to check.
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

/** The emergency gets its full time again. */
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
      const details = { message: sentence("activity.restarted") };
      addActivity(tx, { notificationId: row.id, type: "info", endpointId: endpointId(), details }, by);
    },
    laneOf(row.priorityLevel ?? 5),
  );
  return { ...row, t0: null, streamEndedAt: null, notAfter };
}

async function createFromRow(
  row: NotificationRow,
  how: ResumeDecision | "carried",
  deps: BroadcastActivatorDeps,
): Promise<{ live: ActiveBroadcast; hasSoundEnded: boolean }> {
  const { clock, store, activeBroadcasts, laneOf } = deps;
  const lane = laneOf(row.priorityLevel ?? 5);
  const isBell = row.notificationSource === "bell-schedule";
  const target = multicastTargetOf(row, deps.ttl);
  const moment = (column: "t0" | "stream_ended_at", at: number): void => {
    store
      .write((tx) => void tx.run(`UPDATE notifications SET ${column} = ? WHERE pk = ?`, at, row.pk), lane)
      .catch((error) =>
        deps.log.error(
          { event: "notification.audio_start_not_stored", err: error, notificationId: row.id },
          "Start time of the audio could not be stored.",
        ),
      );
  };
  // Null until it is made; a sound that is resumed late may end before that.
  let broadcast: ActiveBroadcast | null = null;
  let hasSoundEnded = false;
  const sounds = how === "begin" || how === "resume" || how === "again";
  const sound = sounds
    ? await createAudio(row, deps, {
        hasPendingStreams: () => broadcast?.hasPendingStreams() ?? false,
        wouldBeMissed: (endsAt) => broadcast?.wouldBeMissed(endsAt) ?? false,
        onEnd() {
          moment("stream_ended_at", clock.now());
          deps.events.emit("notification.audio-ended", { notificationId: row.id });
          hasSoundEnded = true;
          broadcast?.handleAudioEnd();
        },
      })
    : null;
  if (sound && row.t0 !== null) {
    sound.resume(row.t0);
    deps.events.emit("notification.audio-started", { notificationId: row.id, at: clock.now() });
  }
  const hasGroup = sound ? await openMulticastGroup(row, sound, deps) : target !== null;
  const profile = parseSendingProfile(row);
  const live: ActiveBroadcast = createActiveBroadcast({
    clock,
    providers: deps.providers,
    dispatcher: activeBroadcasts.dispatcher,
    ledger: deps.ledger,
    shared: createSharedItem(row, row.notAfter ?? row.createdAt, imagePathOf(row, store.files)),
    textIn: (language) => deliveryText(translateServerText(row, deps.sentences, language), language),
    callsUntil: callsUntil(row),
    settingsFor: settingsByProvider(row, deps.providers),
    // A late bell tells the wrong time.
    canQueue: !isBell && profile.queueingAllowed,
    synchronizedStart: profile.synchronizedStart,
    singleAttempt: profile.skipUnresponsiveRecipients && row.priorityLevel !== 0,
    catchesUp: catchesUp(row),
    rank: isBell ? (profile.priority ?? 5) : null,
    soundsAt: row.heldUntil,
    held: isHeld(row),
    abandoned: !sounds && how !== "carried",
    sound,
    singlePassMs: sound && singlePassMs(sound.durationMs, profile),
    targets: targetsOf(row, hasGroup, deps.ttl),
    hasPendingRows: () => hasPendingRecipients(store, row.id),
    onAudioStarted(t0) {
      moment("t0", t0);
      deps.events.emit("notification.audio-started", { notificationId: row.id, at: t0 });
    },
  });
  broadcast = live;
  if (isHeld(row)) deps.holds.onStart(row.id, live.startAt);
  return { live, hasSoundEnded };
}

/** Null for audio of unknown length: it repeats until the message ends, or is a live page. */
function singlePassMs(
  durationMs: number | null,
  { repetitions, repetitionPauseMs, repeatIndefinitely }: ReturnType<typeof parseSendingProfile>,
): number | null {
  if (durationMs === null || repeatIndefinitely) return null;
  return (durationMs - repetitionPauseMs * (repetitions - 1)) / repetitions;
}

/** How much longer people are called than devices are asked, where the message does not expire. */
const EXTRA_CALL_TIME_MS = { emergency: 45 * 60_000, routine: 28 * 60_000 } as const;

function callsUntil({ notAfter, createdAt, expiresAt, priorityLevel }: NotificationRow): number {
  const more = expiresAt === null ? EXTRA_CALL_TIME_MS[priorityLevel === 0 ? "emergency" : "routine"] : 0;
  return (notAfter ?? createdAt) + more;
}

function targetsOf(row: NotificationRow, hasGroup: boolean, ttl: number): ActiveBroadcastDeps["targets"] {
  const own = streamTargetOf(row, ttl);
  return { group: hasGroup ? multicastTargetOf(row, ttl) : null, own, call: own };
}

/** The message's settings for each provider, computed once. */
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
  deps: BroadcastActivatorDeps,
  course: Pick<BroadcastAudioDeps, "hasPendingStreams" | "wouldBeMissed" | "onEnd">,
): Promise<BroadcastAudio | null> {
  const renderedAudio = await renderAudioWithRetry(row, deps);
  if (!renderedAudio || row.ssrc === null) return null;
  return createBroadcastAudio({
    clock: deps.clock,
    streamer: deps.streamer,
    notificationId: row.id,
    ssrc: row.ssrc,
    renderedAudio,
    synchronizedStart: parseSendingProfile(row).synchronizedStart,
    networkInterface: deps.networkInterface,
    ...course,
    onLost: () => void logActivity(row, "broadcast-failed", sentence("activity.audio-cut-off"), deps),
  });
}

/** A message must be shown even if its audio fails. */
async function renderAudioWithRetry(row: NotificationRow, deps: BroadcastActivatorDeps): Promise<RenderedAudio | null> {
  try {
    return await renderedAudioFor(row, deps).catch(() => renderedAudioFor(row, deps));
  } catch (error) {
    deps.log.error(
      { event: "notification.audio_failed", err: error, notificationId: row.id },
      "Audio could not be rendered.",
    );
    await logActivity(row, "broadcast-failed", sentence("activity.audio-not-made"), deps);
    return null;
  }
}

/** Opens the stream that phones join; false when there are no phones, or it cannot be opened. */
async function openMulticastGroup(
  row: NotificationRow,
  sound: BroadcastAudio,
  deps: BroadcastActivatorDeps,
): Promise<boolean> {
  const target = multicastTargetOf(row, deps.ttl);
  const phones = deps.store.one(
    "SELECT 1 FROM deliveries WHERE notification_pk = ? AND type = 'phones' AND ended_at IS NULL LIMIT 1",
    row.pk,
  );
  if (!target || !phones) return false;
  try {
    await sound.openStream({ ...target, waitsForNetwork: true });
    return true;
  } catch (error) {
    deps.log.error(
      { event: "notification.multicast_failed", err: error, notificationId: row.id },
      "Multicast stream could not be opened.",
    );
    await logActivity(row, "broadcast-failed", sentence("activity.multicast-failed"), deps);
    return false;
  }
}

async function logActivity(
  row: NotificationRow,
  type: "broadcast-failed" | "info",
  message: Sentence,
  { store, by, endpointId, log }: BroadcastActivatorDeps,
): Promise<void> {
  await store
    .write((tx) => {
      const values = { notificationId: row.id, type, endpointId: endpointId() };
      addActivity(tx, { ...values, details: { message } }, by);
    })
    .catch((error) =>
      log.error(
        { event: "notification.activity_not_written", err: error, notificationId: row.id },
        "Activity log entry could not be written.",
      ),
    );
}

/** The ledger shows which devices play, but not the gap in what they played. */
function gapMessage({ t0 }: NotificationRow, now: number): Sentence {
  const second = Math.max(1, Math.round((now - (t0 ?? now)) / 1_000));
  return sentence("activity.audio-resumed", { second });
}

/**
 * `givenUp`: reason with which unreached deliveries end instead of being asked; `silenced`: keys of devices that are
 * skipped. Other messages yield to an emergency, except those with a scheduled start.
 */
async function loadRows(
  live: ActiveBroadcast,
  deps: BroadcastActivatorDeps,
  { again, givenUp, silenced }: { again: boolean; givenUp: Sentence | null; silenced: ReadonlySet<number> },
): Promise<void> {
  const { clock, emergencyPrecedence } = deps;
  const isUrgent = live.priority === EMERGENCY;
  let began = clock.monotonicMs();
  for (const page of loadOpenDeliveries(live, deps.store, again, deps.providers)) {
    deps.signal.throwIfAborted();
    if (givenUp !== null) for (const delivery of page) delivery.reached ||= mayHaveJoined(delivery);
    deps.activeBroadcasts.addDeliveries(live, page);
    const silent = live.skipsUnresponsive ? findUnresponsiveDevices(page, deps.store, clock.now()) : noDevices();
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

/**
 * The device was asked, and its answer may have been lost with the process: it is silenced like those that had
 * answered.
 */
function mayHaveJoined({ audioMode, attempt }: Delivery): boolean {
  return audioMode === "group" && attempt > 0;
}

/** Ends what an earlier run left: channels first learn of the devices that they are to silence. */
async function finishInterrupted(
  live: ActiveBroadcast,
  how: "finish" | "interrupted" | "aborted" | "expired",
  deps: BroadcastActivatorDeps,
) {
  await within(deps.clock, live.handedOver, { timeoutMs: FOLLOW_UP_TIMEOUT_MS, signal: deps.signal });
  deps.signal.throwIfAborted();
  if (how === "finish") live.handleAudioEnd();
  else live.halt(how);
}

const END_REASONS = {
  finish: sentence("delivery.audio-over"),
  interrupted: sentence("delivery.interrupted"),
  aborted: sentence("delivery.aborted"),
  expired: sentence("delivery.expired"),
  unresponsive: sentence("delivery.unresponsive"),
  silenced: sentence("delivery.silenced"),
};
