import type { Clock, Timer } from "../../lib/clock.ts";
import type { AudioTarget, DeliveryItem } from "../../plugin-api/index.ts";
import type { BroadcastAudio } from "./broadcast-audio.ts";
import type { Delivery } from "./delivery.ts";
import type { SharedItem } from "./delivery-item.ts";
import type { DeliveryProviders } from "./delivery-providers.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { DeliveryLedger } from "./ledger.ts";
import type { StartQuorum } from "./sync-start-policy.ts";

/** What a broadcast on air needs. */
export interface ActiveBroadcastDeps {
  clock: Clock;
  providers: DeliveryProviders;
  dispatcher: Dispatcher;
  ledger: DeliveryLedger;
  shared: SharedItem;
  /** Epoch ms until which people may be called. */
  callsUntil: number;
  /** What the message's settings say of a provider. */
  settingsFor(provider: string): DeliveryItem["settings"];
  canQueue: boolean;
  /** All begin together. */
  synchronizedStart: boolean;
  /** What does not answer is not tried again. */
  singleAttempt: boolean;
  /** How urgent a bell is among bells, 1 most; null for anything else. */
  rank: number | null;
  /** Epoch ms at which it is to sound; null for what sounds as soon as can be. */
  soundsAt: number | null;
  /** Its sound waits until it is told when to begin. */
  held: boolean;
  /** It is only ended, by whoever put it on air. */
  abandoned: boolean;
  sound: BroadcastAudio | null;
  /** Length of what is heard once; null when it goes on until the end of the message, or there is no sound. */
  singlePassMs: number | null;
  /** What devices are told of the sound, by how they get it; null without. */
  targets: Readonly<Record<"group" | "own" | "call", AudioTarget | null>>;
  /** True while rows are still being made for it. */
  hasPendingRows(): boolean;
  /** Writes the moment of the first packet. */
  onAudioStarted(t0: number): void;
}

/** What is known of a broadcast on air, beside what its deliveries say; the parts of `live-broadcast.ts` share it. */
export interface ActiveBroadcastState extends ActiveBroadcastDeps {
  readonly deliveries: Set<Delivery>;
  readonly counts: StartQuorum;
  readonly handedOver: Deferred;
  readonly finished: Deferred;
  /** When it was put on air, on the clock that is never set; so is `endsAt`. */
  readonly activatedAtMonotonicMs: number;
  readonly endsAtMonotonicMs: number;
  /** Whether the moment of what is timed is to come: what is busy may be free by then. */
  startPhase: "ahead" | "here" | "over";
  /** Deliveries of other messages, by device, in whose group it is heard before its own is joined. */
  alreadyListening: ReadonlyMap<number, Delivery>;
  /** Own deliveries to these devices, which wait until they are to leave for its own group; null from then on. */
  listeningElsewhere: Delivery[] | null;
  /** All deliveries that there were when it began have been added. */
  allAdded: boolean;
  audioEnded: boolean;
  /** When the last phone was given to its channel, on the clock that is never set. */
  lastPhoneDispatchMonotonicMs: number;
  /** Nobody is to be asked any more. */
  closed: boolean;
  /** Deliveries that have not ended. */
  open: number;
  /** Deliveries that were not asked yet. */
  undispatched: number;
  after(delayMs: number, fn: () => void): void;
  /** Cancels its timers. */
  cancelTimers(): void;
}

/** The state of a message with no delivery yet. */
export function createActiveBroadcastState(needs: ActiveBroadcastDeps): ActiveBroadcastState {
  const { clock, shared } = needs;
  const timers = new Set<Timer>();
  const activatedAtMonotonicMs = clock.monotonicMs();
  return {
    ...needs,
    deliveries: new Set(),
    counts: { phones: 0, phonesJoined: 0, phonesFailed: 0, zones: 0, zonesReady: 0 },
    handedOver: createDeferred(),
    finished: createDeferred(),
    activatedAtMonotonicMs,
    endsAtMonotonicMs: activatedAtMonotonicMs + shared.notAfter - clock.now(),
    startPhase: needs.held ? "ahead" : "over",
    alreadyListening: new Map(),
    listeningElsewhere: [],
    allAdded: false,
    audioEnded: false,
    lastPhoneDispatchMonotonicMs: Number.NEGATIVE_INFINITY,
    closed: false,
    open: 0,
    undispatched: 0,
    after(delayMs, fn) {
      const timer = clock.after(Math.max(0, delayMs), () => {
        timers.delete(timer);
        fn();
      });
      timers.add(timer);
    },
    cancelTimers() {
      for (const timer of timers) timer.cancel();
      timers.clear();
    },
  };
}

/** Deliveries that have not ended. */
export function openDeliveries({ deliveries }: ActiveBroadcastState): Delivery[] {
  return [...deliveries].filter((delivery) => delivery.endedAt === null);
}

/** A promise and the way to keep it. */
export interface Deferred {
  promise: Promise<void>;
  resolve(): void;
}

/** Makes a promise that is kept from outside. */
export function createDeferred(): Deferred {
  let give = (): void => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { promise: given, resolve: give };
}
