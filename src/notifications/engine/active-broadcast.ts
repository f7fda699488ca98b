import type { AudioTarget, DeliveryItem } from "../../plugin-api/index.ts";
import {
  abandonWaiting,
  deliveryDeadline,
  endAfterAudio,
  endDelivery,
  halt,
  scheduleExpiry,
} from "./active-broadcast-end.ts";
import { handleDeliveryOutcome, scheduleRetry } from "./active-broadcast-outcomes.ts";
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

/** One message while its devices are being reached, in memory; the ledger follows it. */
export interface ActiveBroadcast extends DeliveryOwner {
  readonly sound: BroadcastAudio | null;
  /** Where phones join it; null without a group. */
  readonly group: AudioStreamTarget | null;
  readonly priority: number;
  readonly deliveries: ReadonlySet<Delivery>;
  /** Devices that have not answered lately are left out. */
  readonly skipsUnresponsive: boolean;
  /** Takes deliveries as they are read; those that have ended are left out by the reader. */
  add(deliveries: readonly Delivery[]): void;
  /** All that there are by now have been added: the start rule may decide. May be called again. */
  markAllAdded(): void;
  /**
   * These devices (internal keys) hear it where another message, whose deliveries these are, asked them to listen: they are
   * asked to join its own group once it has begun, and nobody waits for those that listen. To be said before deliveries
   * are added.
   */
  setAlreadyListening(devices: ReadonlyMap<number, Delivery>): void;
  /** A device with a stream of its own was asked and has not answered, or did a moment ago. */
  hasPendingStreams(): boolean;
  /** A phone would miss the sound if it ended at `endsAt` (epoch ms): of an emergency it has heard less than half, or is being asked. */
  wouldBeMissed(endsAt: number): boolean;
  /** Opens the stream of a zone or a call; resolves when its first packet has left. Rejects with UpstreamError. */
  openStream(target: AudioStreamTarget): Promise<void>;
  /** Ends the message before its time; devices are silenced. */
  halt(reason: "aborted" | "expired" | "interrupted"): void;
  /** Lets a sound begin that was held back, at `at` (epoch ms) unless that is over. */
  startAt(at: number): void;
  /** Ends what still waits for a device of an appliance, in these words; how many there were. */
  abandonWaiting(words: string): number;
  /** The programme has been sent. */
  handleAudioEnd(): void;
  /** Resolves when every device was asked once and the sound has begun. */
  readonly handedOver: Promise<void>;
  /** Resolves when nothing more is to be expected of any device. */
  readonly finished: Promise<void>;
  /** Cancels its timers; for the end of the process. */
  cancelTimers(): void;
}

/** What sounded before has ended when its last packet is accounted for: a device is free by then. own choice */
const FREE_WITHIN_MS = 250;
/** From a device's answer to its stream it takes a channel less than this. own choice */
const OPENING_MS = 1_000;
/** A phone answers within this time, or probably not at all. own choice */
const JOINING_MS = 2_000;

/**
 * Puts a message on air, with no delivery yet. What it knows stands in `live-state.ts`; when the sound begins is decided in
 * `live-start.ts`, what channels say is taken in `live-outcomes.ts`, and deliveries end in `live-ends.ts`.
 */
export function createActiveBroadcast(needs: ActiveBroadcastDeps): ActiveBroadcast {
  const state = createActiveBroadcastState(needs);
  const { clock, shared, sound } = needs;
  // Reading its many devices must not have an emergency begin later.
  if (shared.class === "emergency") scheduleLatestStart(state);
  return {
    id: shared.notificationId,
    priority: shared.priority,
    get canQueue() {
      return needs.canQueue || state.startPhase !== "over";
    },
    // A phone takes its time to join; a zone is cut off when it comes to that.
    canPreempt: ({ audioMode }) => state.startPhase !== "ahead" || audioMode !== "own",
    rank: needs.rank,
    soundsAt: needs.soundsAt,
    skipsUnresponsive: needs.singleAttempt,
    synchronizedStart: needs.synchronizedStart,
    sound,
    group: needs.targets.group,
    get closed() {
      return state.closed;
    },
    deliveries: state.deliveries,
    handedOver: state.handedOver.promise,
    finished: state.finished.promise,
    // A text goes past a zone, whatever that plays.
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
    handleOutcome: (delivery, outcome) => handleDeliveryOutcome(state, delivery, outcome),
    hasPendingStreams: () => openDeliveries(state).some((delivery) => isStreamPending(delivery, clock.now())),
    wouldBeMissed: (endsAt) => wouldBeMissed(state, endsAt),
    openStream: (target) => openStream(state, target),
    startAt: (at) => startHeldAt(state, at),
    abandonWaiting: (words) => abandonWaiting(state, words),
    handleAudioEnd: () => endAfterAudio(state),
    halt: (reason) => halt(state, reason),
  };
}

function isStreamPending({ audioMode, dispatchState, acceptedAt }: Delivery, now: number): boolean {
  if (audioMode !== "own" && audioMode !== "call") return false;
  return dispatchState === "in-flight" || dispatchState === "queued" || now - (acceptedAt ?? 0) < OPENING_MS;
}

/** own choice: a routine message or a bell is not heard more often than its sender wanted because there are many phones. */
function wouldBeMissed(state: ActiveBroadcastState, endsAt: number): boolean {
  const { clock, counts, singlePassMs, shared } = state;
  if (shared.class !== "emergency" || singlePassMs === null || state.closed) return false;
  const isJoining = counts.phonesJoined + counts.phonesFailed < counts.phones;
  if (isJoining && clock.monotonicMs() - state.lastPhoneDispatchMonotonicMs < JOINING_MS) return true;
  return openDeliveries(state).some((delivery) => {
    if (isListening(delivery)) return (delivery.acceptedAt ?? 0) > endsAt - singlePassMs / 2;
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

/** What waits for its device asks for it at the moment, and for the last time once what sounded before has ended. */
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
  // After a crash, what was asked must be told from what was not: it may have joined without anybody knowing.
  state.ledger.markDirty(delivery);
  return { ...shared, settings, audio, deliveryId, device, attempt: delivery.attempt };
}

function audioFor({ sound, targets }: ActiveBroadcastState, { audioMode, reached }: Delivery): AudioTarget | null {
  const target = audioMode === "nothing" || audioMode === "talk" ? null : targets[audioMode];
  // What has joined is told of it again, so that it can be silenced.
  return reached || (sound && !sound.over) ? target : null;
}

async function openStream(state: ActiveBroadcastState, target: AudioStreamTarget): Promise<void> {
  const { sound, counts } = state;
  if (!sound) return;
  await sound.openStream(target);
  // Calls count when they are answered.
  if (target.sourcePort === undefined) counts.zonesReady++;
  checkProgress(state);
  await sound.waitForFirstPacket(target);
}
