import type { Clock, Timer } from "../base/clock.ts";
import type { AudioTarget, DeliveryItem } from "../plugin-api/index.ts";
import type { Delivery } from "./delivery.ts";
import type { SharedItem } from "./delivery-item.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { Ledger } from "./ledger.ts";
import type { Providers } from "./providers.ts";
import type { Sound } from "./sound.ts";
import type { StartCounts } from "./start-rule.ts";

/** What a broadcast on air needs. */
export interface LiveNeeds {
  clock: Clock;
  providers: Providers;
  dispatcher: Dispatcher;
  ledger: Ledger;
  shared: SharedItem;
  /** Epoch ms until which people may be called. */
  callsUntil: number;
  /** What the message's settings say of a provider. */
  settingsFor(provider: string): DeliveryItem["settings"];
  mayWait: boolean;
  /** All begin together. */
  isTogether: boolean;
  /** What does not answer is not tried again. */
  triesOnce: boolean;
  /** How urgent a bell is among bells, 1 most; null for anything else. */
  rank: number | null;
  /** Epoch ms at which it is to sound; null for what sounds as soon as can be. */
  soundsAt: number | null;
  /** Its sound waits until it is told when to begin. */
  held: boolean;
  /** It is only ended, by whoever put it on air. */
  givenUp: boolean;
  sound: Sound | null;
  /** Length of what is heard once; null when it goes on until the end of the message, or there is no sound. */
  onceMs: number | null;
  /** What devices are told of the sound, by how they get it; null without. */
  targets: Readonly<Record<"group" | "own" | "call", AudioTarget | null>>;
  /** True while rows are still being made for it. */
  moreToCome(): boolean;
  /** Writes the moment of the first packet. */
  soundBegan(t0: number): void;
}

/** What is known of a broadcast on air, beside what its deliveries say; the parts of `live-broadcast.ts` share it. */
export interface LiveState extends LiveNeeds {
  readonly deliveries: Set<Delivery>;
  readonly counts: StartCounts;
  readonly handedOver: Signal;
  readonly finished: Signal;
  /** When it was put on air, on the clock that is never set; so is `endsAt`. */
  readonly began: number;
  readonly endsAt: number;
  /** Whether the moment of what is timed is to come: what is busy may be free by then. */
  moment: "ahead" | "here" | "over";
  /** Deliveries of other messages, by device, in whose group it is heard before its own is joined. */
  listenAlready: ReadonlyMap<number, Delivery>;
  /** Own deliveries to these devices, which wait until they are to leave for its own group; null from then on. */
  elsewhere: Delivery[] | null;
  /** All deliveries that there were when it began have been added. */
  complete: boolean;
  soundWasOver: boolean;
  /** When the last phone was given to its channel, on the clock that is never set. */
  phoneAskedAt: number;
  /** Nobody is to be asked any more. */
  closed: boolean;
  /** Deliveries that have not ended. */
  open: number;
  /** Deliveries that were not asked yet. */
  unasked: number;
  after(delayMs: number, fn: () => void): void;
  /** Cancels its timers. */
  drop(): void;
}

/** The state of a message with no delivery yet. */
export function createLiveState(needs: LiveNeeds): LiveState {
  const { clock, shared } = needs;
  const timers = new Set<Timer>();
  const began = clock.monotonicMs();
  return {
    ...needs,
    deliveries: new Set(),
    counts: { phones: 0, phonesJoined: 0, phonesFailed: 0, zones: 0, zonesReady: 0 },
    handedOver: createSignal(),
    finished: createSignal(),
    began,
    endsAt: began + shared.notAfter - clock.now(),
    moment: needs.held ? "ahead" : "over",
    listenAlready: new Map(),
    elsewhere: [],
    complete: false,
    soundWasOver: false,
    phoneAskedAt: Number.NEGATIVE_INFINITY,
    closed: false,
    open: 0,
    unasked: 0,
    after(delayMs, fn) {
      const timer = clock.after(Math.max(0, delayMs), () => {
        timers.delete(timer);
        fn();
      });
      timers.add(timer);
    },
    drop() {
      for (const timer of timers) timer.cancel();
      timers.clear();
    },
  };
}

/** Deliveries that have not ended. */
export function livingOf({ deliveries }: LiveState): Delivery[] {
  return [...deliveries].filter((delivery) => delivery.endedAt === null);
}

/** A promise and the way to keep it. */
export interface Signal {
  given: Promise<void>;
  give(): void;
}

/** Makes a promise that is kept from outside. */
export function createSignal(): Signal {
  let give = (): void => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give };
}
