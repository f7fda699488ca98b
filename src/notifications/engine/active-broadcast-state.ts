import type { Clock, Timer } from "../../lib/clock.ts";
import type { SentenceLanguage } from "../../lib/sentences/sentences.ts";
import type { AudioTarget, DeliveryItem } from "../../plugin-api/index.ts";
import type { BroadcastAudio } from "./broadcast-audio.ts";
import type { Delivery } from "./delivery.ts";
import type { SharedItem } from "./delivery-item.ts";
import type { DeliveryProviders } from "./delivery-providers.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { DeliveryLedger } from "./ledger.ts";
import type { StartQuorum } from "./sync-start-policy.ts";

export interface ActiveBroadcastDeps {
  clock: Clock;
  providers: DeliveryProviders;
  dispatcher: Dispatcher;
  ledger: DeliveryLedger;
  shared: SharedItem;
  /** The message's text in a language of its recipients. */
  textIn(language: SentenceLanguage): DeliveryItem["text"];
  /** Epoch ms until which people may be called. */
  callsUntil: number;
  /** The message's settings for a provider. */
  settingsFor(provider: string): DeliveryItem["settings"];
  canQueue: boolean;
  /** All devices start together. */
  synchronizedStart: boolean;
  /** Devices that do not answer are not retried. */
  singleAttempt: boolean;
  /** It is sent again to devices that have not heard it, once this attempt has ended. */
  catchesUp: boolean;
  /** Rank among bells, 1 the most urgent; null for other messages. */
  rank: number | null;
  /** Scheduled start, epoch ms; null to start as soon as possible. */
  soundsAt: number | null;
  /** The audio waits for `startAt`. */
  held: boolean;
  /** The broadcast is only being ended. */
  abandoned: boolean;
  sound: BroadcastAudio | null;
  /** Length of one pass; null when it repeats until the end of the message, or there is no audio. */
  singlePassMs: number | null;
  /** Audio targets sent to devices, by audio mode; null without. */
  targets: Readonly<Record<"group" | "own" | "call", AudioTarget | null>>;
  /** True while rows are still being created for it. */
  hasPendingRows(): boolean;
  /** Stores the time of the first packet. */
  onAudioStarted(t0: number): void;
}

/** State of an active broadcast beside its deliveries; shared by the `active-broadcast-*.ts` modules. */
export interface ActiveBroadcastState extends ActiveBroadcastDeps {
  readonly deliveries: Set<Delivery>;
  readonly counts: StartQuorum;
  readonly handedOver: Deferred;
  readonly finished: Deferred;
  /** Activation time, monotonic; so is `endsAt`. */
  readonly activatedAtMonotonicMs: number;
  readonly endsAtMonotonicMs: number;
  /** Whether a scheduled start is still ahead: a busy device may be free by then. */
  startPhase: "ahead" | "here" | "over";
  /**
   * Deliveries of other messages, by device, in whose group the audio is heard before the device joins the own group.
   */
  alreadyListening: ReadonlyMap<number, Delivery>;
  /** Own deliveries to these devices, which wait until they are to move to the own group; null from then on. */
  listeningElsewhere: Delivery[] | null;
  /** All deliveries that existed at the start have been added. */
  allAdded: boolean;
  audioEnded: boolean;
  /** The audio starts once the network is there: without it no device would play it. */
  startAwaitsNetwork: boolean;
  /** Streams to zones and calls that could be opened so far. */
  streamsOpened: number;
  /** Scheduled start that was given, epoch ms. */
  plannedStart: number | undefined;
  /** When the last phone was handed to its channel, monotonic. */
  lastPhoneDispatchMonotonicMs: number;
  /** No more devices are asked. */
  closed: boolean;
  /** Number of deliveries that have not ended. */
  open: number;
  /** Number of deliveries that have not been asked. */
  undispatched: number;
  after(delayMs: number, fn: () => void): void;
  /** Cancels its timers. */
  cancelTimers(): void;
}

/** The state of a message without deliveries. */
export function createActiveBroadcastState(deps: ActiveBroadcastDeps): ActiveBroadcastState {
  const { clock, shared } = deps;
  const timers = new Set<Timer>();
  const activatedAtMonotonicMs = clock.monotonicMs();
  return {
    ...deps,
    deliveries: new Set(),
    counts: { phones: 0, phonesJoined: 0, phonesFailed: 0, zones: 0, zonesReady: 0 },
    handedOver: createDeferred(),
    finished: createDeferred(),
    activatedAtMonotonicMs,
    endsAtMonotonicMs: activatedAtMonotonicMs + shared.notAfter - clock.now(),
    startPhase: deps.held ? "ahead" : "over",
    alreadyListening: new Map(),
    listeningElsewhere: [],
    allAdded: false,
    audioEnded: false,
    startAwaitsNetwork: false,
    streamsOpened: 0,
    plannedStart: undefined,
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

/** A promise with its resolve function. */
export interface Deferred {
  promise: Promise<void>;
  resolve(): void;
}

/** Creates a promise that is resolved from outside. */
export function createDeferred(): Deferred {
  let give = (): void => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { promise: given, resolve: give };
}
