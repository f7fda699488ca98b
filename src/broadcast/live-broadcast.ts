import type { AudioTarget, DeliveryItem } from "../plugin-api/index.ts";
import type { Delivery, DeliveryOwner, ReachedDevice } from "./delivery.ts";
import { endDelivery, endWithSound, expectExpiry, giveUpWaiting, halt, usefulUntil } from "./live-ends.ts";
import { restUntilRetry, takeOutcome } from "./live-outcomes.ts";
import { countAdded, countAsked, countState, expectStart, followListeners, look, start } from "./live-start.ts";
import { createLiveState, type LiveNeeds, type LiveState, livingOf } from "./live-state.ts";
import { isListening, isReached, willListen } from "./proof.ts";
import type { Sound, SoundTarget } from "./sound.ts";

/** One message while its devices are being reached, in memory; the ledger follows it. */
export interface LiveBroadcast extends DeliveryOwner {
  readonly sound: Sound | null;
  /** Where phones join it; null without a group. */
  readonly group: SoundTarget | null;
  readonly priority: number;
  readonly deliveries: ReadonlySet<Delivery>;
  /** Devices that have not answered lately are left out. */
  readonly skipsSilent: boolean;
  /** Takes deliveries as they are read; those that have ended are left out by the reader. */
  add(deliveries: readonly Delivery[]): void;
  /** All that there are by now have been added: the start rule may decide. May be called again. */
  allAdded(): void;
  /**
   * These devices (internal keys) hear it where another message, whose deliveries these are, asked them to listen: they are
   * asked to join its own group once it has begun, and nobody waits for those that listen. To be said before deliveries
   * are added.
   */
  listenAlready(devices: ReadonlyMap<number, Delivery>): void;
  /** A device with a stream of its own was asked and has not answered, or did a moment ago. */
  isAwaited(): boolean;
  /** A phone would miss the sound if it ended at `endsAt` (epoch ms): of an emergency it has heard less than half, or is being asked. */
  isMissed(endsAt: number): boolean;
  /** Opens the stream of a zone or a call; resolves when its first packet has left. Rejects with UpstreamError. */
  openStream(target: SoundTarget): Promise<void>;
  /** Ends the message before its time; devices are silenced. */
  halt(reason: "aborted" | "expired" | "interrupted"): void;
  /** Lets a sound begin that was held back, at `at` (epoch ms) unless that is over. */
  begin(at: number): void;
  /** Ends what still waits for a device of an appliance, in these words; how many there were. */
  giveUpWaiting(words: string): number;
  /** The programme has been sent. */
  soundIsOver(): void;
  /** Resolves when every device was asked once and the sound has begun. */
  readonly handedOver: Promise<void>;
  /** Resolves when nothing more is to be expected of any device. */
  readonly finished: Promise<void>;
  /** Cancels its timers; for the end of the process. */
  drop(): void;
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
export function createLiveBroadcast(needs: LiveNeeds): LiveBroadcast {
  const state = createLiveState(needs);
  const { clock, shared, sound } = needs;
  // Reading its many devices must not have an emergency begin later.
  if (shared.class === "emergency") expectStart(state);
  return {
    id: shared.notificationId,
    priority: shared.priority,
    get mayWait() {
      return needs.mayWait || state.moment !== "over";
    },
    // A phone takes its time to join; a zone is cut off when it comes to that.
    mayPreempt: ({ hears }) => state.moment !== "ahead" || hears !== "own",
    rank: needs.rank,
    soundsAt: needs.soundsAt,
    skipsSilent: needs.triesOnce,
    isTogether: needs.isTogether,
    sound,
    group: needs.targets.group,
    get closed() {
      return state.closed;
    },
    deliveries: state.deliveries,
    handedOver: state.handedOver.given,
    finished: state.finished.given,
    // A text goes past a zone, whatever that plays.
    takesDevice: ({ hears }) => (hears !== "own" && hears !== "call") || (sound !== null && !sound.over),
    asked(delivery) {
      countAsked(state, delivery);
      look(state);
    },
    end(delivery, level, reason) {
      endDelivery(state, delivery, level, reason, clock.now());
      look(state);
    },
    drop: state.drop,
    add(added) {
      for (const delivery of added) addDelivery(state, delivery);
    },
    allAdded: () => allAdded(state),
    listenAlready(devices) {
      state.listenAlready = devices;
      if (devices.size > 0) followListeners(state);
    },
    item: (delivery, device) => itemFor(state, delivery, device),
    takeOutcome: (delivery, outcome) => takeOutcome(state, delivery, outcome),
    isAwaited: () => livingOf(state).some((delivery) => isAwaited(delivery, clock.now())),
    isMissed: (endsAt) => isMissed(state, endsAt),
    openStream: (target) => openStream(state, target),
    begin: (at) => begin(state, at),
    giveUpWaiting: (words) => giveUpWaiting(state, words),
    soundIsOver: () => endWithSound(state),
    halt: (reason) => halt(state, reason),
  };
}

function isAwaited({ hears, place, acceptedAt }: Delivery, now: number): boolean {
  if (hears !== "own" && hears !== "call") return false;
  return place === "out" || place === "queued" || now - (acceptedAt ?? 0) < OPENING_MS;
}

/** own choice: a routine message or a bell is not heard more often than its sender wanted because there are many phones. */
function isMissed(state: LiveState, endsAt: number): boolean {
  const { clock, counts, onceMs, shared } = state;
  if (shared.class !== "emergency" || onceMs === null || state.closed) return false;
  const isJoining = counts.phonesJoined + counts.phonesFailed < counts.phones;
  if (isJoining && clock.monotonicMs() - state.phoneAskedAt < JOINING_MS) return true;
  return livingOf(state).some((delivery) => {
    if (isListening(delivery)) return (delivery.acceptedAt ?? 0) > endsAt - onceMs / 2;
    return delivery.hears === "group" && delivery.place === "queued" && !delivery.asked;
  });
}

function addDelivery(state: LiveState, delivery: Delivery): void {
  state.deliveries.add(delivery);
  state.open++;
  state.unasked++;
  countAdded(state, delivery);
  if (delivery.reached) countState(state, delivery, "joined");
  const waitMs = (delivery.retryAt ?? 0) - state.clock.now();
  if (waitMs > 0) {
    restUntilRetry(state, delivery, waitMs);
    countAsked(state, delivery);
  } else if (!isHeardElsewhere(state, delivery)) state.dispatcher.queue(delivery);
}

function isHeardElsewhere(state: LiveState, delivery: Delivery): boolean {
  const other = state.listenAlready.get(delivery.device ?? 0);
  if (!other || delivery.hears !== "group" || state.elsewhere === null || !willListen(other)) return false;
  if (isListening(other)) countState(state, delivery, "joined");
  delivery.place = "rests";
  state.elsewhere.push(delivery);
  return true;
}

function allAdded(state: LiveState): void {
  if (!state.complete) {
    state.complete = true;
    if (state.shared.class !== "emergency") expectStart(state);
    if (!state.givenUp) expectExpiry(state);
  }
  look(state);
}

/** What waits for its device asks for it at the moment, and for the last time once what sounded before has ended. */
function begin(state: LiveState, at: number): void {
  const { clock } = state;
  const ask = (moment: LiveState["moment"]): void => {
    state.moment = moment;
    for (const delivery of livingOf(state)) if (delivery.place === "held") state.dispatcher.queue(delivery);
  };
  start(state, at);
  ask("here");
  state.after(Math.max(0, at - clock.now()) + FREE_WITHIN_MS, () => ask("over"));
}

function itemFor(state: LiveState, delivery: Delivery, device: ReachedDevice): DeliveryItem {
  const shared = { ...state.shared, notAfter: usefulUntil(state, delivery) };
  const audio = audioFor(state, delivery);
  const settings = state.settingsFor(delivery.provider);
  const { pk: deliveryId, reached, level } = delivery;
  delivery.audible = audio !== null;
  if (reached) {
    const proven = isReached(delivery) ? (level as "accepted") : "sent";
    return { ...shared, settings, audio, deliveryId, device, attempt: delivery.attempt, reached: proven };
  }
  delivery.attempt++;
  if (delivery.hears === "group") state.phoneAskedAt = state.clock.monotonicMs();
  // After a crash, what was asked must be told from what was not: it may have joined without anybody knowing.
  state.ledger.touch(delivery);
  return { ...shared, settings, audio, deliveryId, device, attempt: delivery.attempt };
}

function audioFor({ sound, targets }: LiveState, { hears, reached }: Delivery): AudioTarget | null {
  const target = hears === "nothing" || hears === "talk" ? null : targets[hears];
  // What has joined is told of it again, so that it can be silenced.
  return reached || (sound && !sound.over) ? target : null;
}

async function openStream(state: LiveState, target: SoundTarget): Promise<void> {
  const { sound, counts } = state;
  if (!sound) return;
  await sound.open(target);
  // Calls count when they are answered.
  if (target.sourcePort === undefined) counts.zonesReady++;
  look(state);
  await sound.started(target);
}
