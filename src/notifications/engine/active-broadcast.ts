import type { Sentence, SentenceLanguage } from "../../lib/sentences/sentences.ts";
import type { AudioTarget, DeliveryItem } from "../../plugin-api/index.ts";
import {
  abandonWaiting,
  deliveryDeadline,
  endAfterAudio,
  endDelivery,
  halt,
  hasHeardTooLittle,
  scheduleExpiry,
} from "./active-broadcast-end.ts";
import { handleDeliveryOutcome, retryAfterNetworkChange, scheduleRetry } from "./active-broadcast-outcomes.ts";
import {
  checkProgress,
  countDispatched,
  countForStart,
  recordJoinState,
  scheduleLatestStart,
  startAudio,
  watchListeners,
} from "./active-broadcast-start.ts";
import {
  type ActiveBroadcastDeps,
  type ActiveBroadcastState,
  createActiveBroadcastState,
  openDeliveries,
} from "./active-broadcast-state.ts";
import type { AudioStreamTarget, BroadcastAudio } from "./broadcast-audio.ts";
import type { Delivery, DeliveryOwner, ItemDevice } from "./delivery.ts";
import { isListening, isReached, willListen } from "./delivery-state.ts";

/** One message in memory while its devices are being reached; the ledger follows it. */
export interface ActiveBroadcast extends DeliveryOwner {
  readonly sound: BroadcastAudio | null;
  /** The multicast group that phones join; null without one. */
  readonly group: AudioStreamTarget | null;
  readonly priority: number;
  readonly deliveries: ReadonlySet<Delivery>;
  /** Skips devices that have not answered lately. */
  readonly skipsUnresponsive: boolean;
  /** Adds deliveries as they are read; the reader leaves out ended ones. */
  add(deliveries: readonly Delivery[]): void;
  /** All current deliveries have been added: the start policy may decide. May be called again. */
  markAllAdded(): void;
  /**
   * These devices (internal keys) hear the audio in the group of another message, whose deliveries these are: they are
   * asked to join the own group after the start, and the start does not wait for them. Call before adding deliveries.
   */
  setAlreadyListening(devices: ReadonlyMap<number, Delivery>): void;
  /** A device with its own stream was asked and has not answered, or answered a moment ago. */
  hasPendingStreams(): boolean;
  /**
   * A phone would miss the audio if it ended at `endsAt` (epoch ms): it has heard less than half of an emergency, or is
   * being asked.
   */
  wouldBeMissed(endsAt: number): boolean;
  /** Opens the stream of a zone or a call; resolves when its first packet has left. Rejects with UpstreamError. */
  openStream(target: AudioStreamTarget): Promise<void>;
  /** Ends the message early; devices are silenced. */
  halt(reason: "aborted" | "expired" | "interrupted"): void;
  /** Tries at once what waited for the network. */
  networkChanged(): void;
  /** Starts held audio at `at` (epoch ms), at once if that is past. */
  startAt(at: number): void;
  /** Ends deliveries that still wait for an on-premises device, with this reason; returns their number. */
  abandonWaiting(reason: Sentence): number;
  /** The text in a language of its recipients. */
  textIn(language: SentenceLanguage): DeliveryItem["text"];
  /** The audio has been sent. */
  handleAudioEnd(): void;
  /** Resolves when every device was asked once and the audio has started. */
  readonly handedOver: Promise<void>;
  /** Resolves when nothing more is expected of any device. */
  readonly finished: Promise<void>;
  /** Cancels its timers; for shutdown. */
  cancelTimers(): void;
}

/** The previous audio has ended when its last packet is accounted for: the device is free within this time. */
const FREE_WITHIN_MS = 250;
/** A channel takes less than this from a device's answer to its stream. */
const OPENING_MS = 1_000;
/** A phone answers within this time, or probably not at all. */
const JOINING_MS = 2_000;

/**
 * Activates a message without deliveries. Its state is in `active-broadcast-state.ts`; `active-broadcast-start.ts`
 * decides when the audio starts, `active-broadcast-outcomes.ts` applies channel reports, and `active-broadcast-end.ts`
 * ends deliveries.
 */
export function createActiveBroadcast(deps: ActiveBroadcastDeps): ActiveBroadcast {
  const state = createActiveBroadcastState(deps);
  const { clock, shared, sound } = deps;
  // Reading its many devices must not delay an emergency.
  if (shared.class === "emergency") scheduleLatestStart(state);
  return {
    id: shared.notificationId,
    priority: shared.priority,
    get canQueue() {
      return deps.canQueue || state.startPhase !== "over";
    },
    // A phone takes time to join; a zone is preempted when it is needed.
    canPreempt: ({ audioMode }) => state.startPhase !== "ahead" || audioMode !== "own",
    rank: deps.rank,
    soundsAt: deps.soundsAt,
    skipsUnresponsive: deps.singleAttempt,
    synchronizedStart: deps.synchronizedStart,
    sound,
    group: deps.targets.group,
    get closed() {
      return state.closed;
    },
    deliveries: state.deliveries,
    handedOver: state.handedOver.promise,
    finished: state.finished.promise,
    // Text does not use a zone, whatever it is playing.
    requiresDevice: ({ audioMode }) => (audioMode !== "own" && audioMode !== "call") || (sound !== null && !sound.over),
    markDispatched(delivery) {
      countDispatched(state, delivery);
      checkProgress(state);
    },
    end(delivery, level, reason) {
      endDelivery(state, delivery, level, reason, clock.now());
      checkProgress(state);
    },
    cancelTimers: state.cancelTimers,
    add(added) {
      for (const delivery of added) addDelivery(state, delivery);
    },
    markAllAdded: () => markAllAdded(state),
    setAlreadyListening(devices) {
      state.alreadyListening = devices;
      if (devices.size > 0) watchListeners(state);
    },
    createItem: (delivery, device) => createItem(state, delivery, device),
    textIn: deps.textIn,
    handleOutcome: (delivery, outcome) => handleDeliveryOutcome(state, delivery, outcome),
    hasPendingStreams: () => openDeliveries(state).some((delivery) => isStreamPending(delivery, clock.now())),
    wouldBeMissed: (endsAt) => wouldBeMissed(state, endsAt),
    openStream: (target) => openStream(state, target),
    networkChanged: () => retryAfterNetworkChange(state),
    startAt: (at) => startHeldAt(state, at),
    abandonWaiting: (reason) => abandonWaiting(state, reason),
    handleAudioEnd: () => endAfterAudio(state),
    halt: (reason) => halt(state, reason),
  };
}

function isStreamPending({ audioMode, dispatchState, acceptedAt, awaitsNetwork }: Delivery, now: number): boolean {
  if (audioMode !== "own" && audioMode !== "call") return false;
  if (awaitsNetwork) return true;
  return dispatchState === "in-flight" || dispatchState === "queued" || now - (acceptedAt ?? 0) < OPENING_MS;
}

/** A routine message or a bell is not repeated because there are many phones. */
function wouldBeMissed(state: ActiveBroadcastState, endsAt: number): boolean {
  const { clock, counts, singlePassMs, shared } = state;
  if (shared.class !== "emergency" || singlePassMs === null || state.closed) return false;
  const isJoining = counts.phonesJoined + counts.phonesFailed < counts.phones;
  if (isJoining && clock.monotonicMs() - state.lastPhoneDispatchMonotonicMs < JOINING_MS) return true;
  return openDeliveries(state).some((delivery) => {
    if (isListening(delivery)) return hasHeardTooLittle(state, delivery, endsAt);
    return delivery.audioMode === "group" && delivery.dispatchState === "queued" && !delivery.dispatched;
  });
}

function addDelivery(state: ActiveBroadcastState, delivery: Delivery): void {
  state.deliveries.add(delivery);
  state.open++;
  state.undispatched++;
  countForStart(state, delivery);
  if (delivery.reached) recordJoinState(state, delivery, "joined");
  const waitMs = (delivery.retryAt ?? 0) - state.clock.now();
  if (waitMs > 0) {
    scheduleRetry(state, delivery, waitMs);
    countDispatched(state, delivery);
  } else if (!deferIfListeningElsewhere(state, delivery)) state.dispatcher.enqueue(delivery);
}

function deferIfListeningElsewhere(state: ActiveBroadcastState, delivery: Delivery): boolean {
  const other = state.alreadyListening.get(delivery.device ?? 0);
  if (!other || delivery.audioMode !== "group" || state.listeningElsewhere === null || !willListen(other)) return false;
  if (isListening(other)) recordJoinState(state, delivery, "joined");
  delivery.dispatchState = "backing-off";
  state.listeningElsewhere.push(delivery);
  return true;
}

function markAllAdded(state: ActiveBroadcastState): void {
  if (!state.allAdded) {
    state.allAdded = true;
    if (state.shared.class !== "emergency") scheduleLatestStart(state);
    if (!state.abandoned) scheduleExpiry(state);
  }
  checkProgress(state);
}

/** Waiting deliveries request their device at the scheduled time, and a last time once the previous audio has ended. */
function startHeldAt(state: ActiveBroadcastState, at: number): void {
  const { clock } = state;
  const ask = (moment: ActiveBroadcastState["startPhase"]): void => {
    state.startPhase = moment;
    for (const delivery of openDeliveries(state))
      if (delivery.dispatchState === "waiting-for-device") state.dispatcher.enqueue(delivery);
  };
  startAudio(state, at);
  ask("here");
  state.after(Math.max(0, at - clock.now()) + FREE_WITHIN_MS, () => ask("over"));
}

function createItem(state: ActiveBroadcastState, delivery: Delivery, device: ItemDevice): DeliveryItem {
  const shared = { ...state.shared, notAfter: deliveryDeadline(state, delivery) };
  const audio = audioFor(state, delivery);
  const settings = state.settingsFor(delivery.provider);
  const { pk: deliveryId, reached, level } = delivery;
  delivery.audible = audio !== null;
  if (reached) {
    const proven = isReached(delivery) ? (level as "accepted") : "sent";
    return { ...shared, settings, audio, deliveryId, device, attempt: delivery.attempt, reached: proven };
  }
  delivery.attempt++;
  if (delivery.audioMode === "group") state.lastPhoneDispatchMonotonicMs = state.clock.monotonicMs();
  // After a crash, asked devices must be known: one may have joined without a report.
  state.ledger.markDirty(delivery);
  return { ...shared, settings, audio, deliveryId, device, attempt: delivery.attempt };
}

function audioFor({ sound, targets }: ActiveBroadcastState, { audioMode, reached }: Delivery): AudioTarget | null {
  const target = audioMode === "nothing" || audioMode === "talk" ? null : targets[audioMode];
  // The target is repeated to a device that has joined, so that it can be silenced.
  return reached || (sound && !sound.over) ? target : null;
}

async function openStream(state: ActiveBroadcastState, target: AudioStreamTarget): Promise<void> {
  const { sound, counts } = state;
  if (!sound) return;
  await sound.openStream(target);
  state.streamsOpened++;
  // Calls count when they are answered.
  if (target.sourcePort === undefined) counts.zonesReady++;
  checkProgress(state);
  await sound.waitForFirstPacket(target);
}
