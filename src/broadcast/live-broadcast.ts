import type { Clock, Timer } from "../base/clock.ts";
import type { AudioTarget, StopRequest } from "../plugin-api/index.ts";
import { callOff } from "./call-off.ts";
import type { Delivery, DeliveryOwner, EndLevel, ReachedDevice } from "./delivery.ts";
import type { SharedItem } from "./delivery-item.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { Ledger } from "./ledger.ts";
import { conclude, isEndLevel, isReached, retryDelay, rise } from "./proof.ts";
import type { Outcome, Providers } from "./providers.ts";
import type { Sound, SoundTarget } from "./sound.ts";
import { mayStart, START_AFTER_MS, type StartCounts } from "./start-rule.ts";

/** One message while its devices are being reached, in memory; the ledger follows it. */
export interface LiveBroadcast extends DeliveryOwner {
  readonly sound: Sound | null;
  readonly priority: number;
  readonly deliveries: ReadonlySet<Delivery>;
  /** Takes deliveries as they are read; those that have ended are left out by the reader. */
  add(deliveries: readonly Delivery[]): void;
  /** All that there are by now have been added: the start rule may decide. May be called again. */
  allAdded(): void;
  /** Opens a zone's own stream; resolves when its first packet has left. Rejects with UpstreamError. */
  openZone(target: SoundTarget): Promise<void>;
  /** Ends the message before its time; devices are silenced. */
  halt(reason: "aborted" | "expired" | "interrupted"): void;
  /** The programme has been sent. */
  soundIsOver(): void;
  /** Resolves when every device was asked once and the sound has begun. */
  readonly handedOver: Promise<void>;
  /** Resolves when nothing more is to be expected of any device. */
  readonly finished: Promise<void>;
  /** Cancels its timers; for the end of the process. */
  drop(): void;
}

/** What a broadcast on air needs. */
export interface LiveNeeds {
  clock: Clock;
  providers: Providers;
  dispatcher: Dispatcher;
  ledger: Ledger;
  shared: SharedItem;
  mayWait: boolean;
  /** It is only ended, by whoever put it on air. */
  givenUp: boolean;
  sound: Sound | null;
  /** What devices are told of the sound, by how they get it; null without. */
  targets: { group: AudioTarget | null; own: AudioTarget | null };
  /** True while rows are still being made for it. */
  moreToCome(): boolean;
  /** Writes the moment of the first packet. */
  soundBegan(t0: number): void;
}

/** Longest wait after the last packet for phones' last words on what they played. own choice */
const PROOF_MS = 10_000;

/** About 1 ms of the event loop. */
const ENDS_PER_TURN = 250;

/** Timers can't count further than 24 days. */
const LONGEST_TIMER_MS = 86_400_000;

/** A zone tells of its first packet, which leaves at the beginning: what is told within this time was not late. own choice */
const FIRST_PACKET_MS = 500;

const HALT_WORDS = {
  aborted: "Somebody ended the message.",
  expired: "The message has expired.",
  interrupted: "The appliance was not running and came back too late.",
};

/** Puts a message on air, with no delivery yet. */
export function createLiveBroadcast(needs: LiveNeeds): LiveBroadcast {
  const { clock, providers, dispatcher, ledger, shared, sound } = needs;
  const deliveries = new Set<Delivery>();
  const counts: StartCounts = { phones: 0, phonesJoined: 0, phonesFailed: 0, zones: 0, zonesReady: 0 };
  const timers = new Set<Timer>();
  const handedOver = createSignal();
  const finished = createSignal();
  const began = clock.monotonicMs();
  /** On the clock that is never set. */
  const endsAt = began + shared.notAfter - clock.now();
  let complete = false;
  let soundWasOver = false;
  let closed = false;
  let open = 0;
  let unasked = 0;

  const after = (delayMs: number, fn: () => void): void => {
    const timer = clock.after(Math.max(0, delayMs), () => {
      timers.delete(timer);
      fn();
    });
    timers.add(timer);
  };
  const drop = (): void => {
    for (const timer of timers) timer.cancel();
    timers.clear();
  };

  /** Looks whether what somebody waits for has come. */
  const look = (): void => {
    if (!complete) return;
    if (open === 0 && !needs.moreToCome()) {
      sound?.stop();
      drop();
      handedOver.give();
      finished.give();
    } else if (sound && sound.t0 === null && !sound.over && mayStart(counts)) start();
    if (unasked === 0 && (!sound || sound.t0 !== null)) handedOver.give();
  };
  const start = (): void => {
    if (!sound || sound.t0 !== null || sound.over) return;
    sound.start();
    needs.soundBegan(sound.t0 as unknown as number);
    look();
  };

  const asked = (delivery: Delivery): void => {
    if (delivery.asked) return;
    delivery.asked = true;
    unasked--;
  };
  /** Counts a device for the start rule, once in each direction. */
  const count = (delivery: Delivery, state: "joined" | "failed"): void => {
    if (delivery.joined === state || delivery.joined === "joined") return;
    if (delivery.hears === "group") {
      if (delivery.joined === "failed") counts.phonesFailed--;
      if (state === "joined") counts.phonesJoined++;
      else counts.phonesFailed++;
    } else if (delivery.hears === "own" && delivery.joined === "no") counts.zonesReady++;
    delivery.joined = state;
  };

  const over = (delivery: Delivery, level: EndLevel | null, reason: string | null, at: number): void => {
    if (delivery.endedAt !== null) return;
    conclude(delivery, level, reason, at);
    if (!isReached(delivery)) count(delivery, "failed");
    asked(delivery);
    dispatcher.released(delivery);
    ledger.touch(delivery);
    open--;
  };
  const end = (delivery: Delivery, level: EndLevel | null, reason: string | null): void => {
    over(delivery, level, reason, clock.now());
    look();
  };

  const tellStop = (stopped: readonly Delivery[], reason: StopRequest["reason"]): void =>
    callOff(providers, stopped, reason);
  const living = (): Delivery[] => [...deliveries].filter((delivery) => delivery.endedAt === null);
  /** Thousands at once would hold up everything else: some are ended per turn. */
  const endAll = (which: readonly Delivery[], level: EndLevel, reason: (delivery: Delivery) => string | null): void => {
    let done = 0;
    const endSome = (): void => {
      const some = which.slice(done, done + ENDS_PER_TURN);
      for (const delivery of some) over(delivery, level, reason(delivery), clock.now());
      done += some.length;
      if (done < which.length) clock.soon(endSome);
      else look();
    };
    endSome();
  };

  const failed = (delivery: Delivery, { details, level, at }: Outcome): void => {
    const words = details.reason ?? null;
    const delayMs =
      level === "failed" && !closed
        ? retryDelay(delivery, details, { now: clock.now(), notAfter: shared.notAfter })
        : null;
    if (delayMs === null) {
      if (level === "failed") delivery.deviceShowed = "silence";
      over(delivery, level as EndLevel, words ?? WITHOUT_WORDS, at);
      return;
    }
    delivery.reason = words;
    delivery.place = "rests";
    delivery.retryAt = clock.now() + delayMs;
    count(delivery, "failed");
    ledger.touch(delivery);
    after(delayMs, () => retry(delivery));
  };
  const retry = (delivery: Delivery): void => {
    if (delivery.endedAt !== null || delivery.place !== "rests") return;
    delivery.retryAt = null;
    dispatcher.queue(delivery);
  };
  const proven = (delivery: Delivery, level: Exclude<Outcome["level"], EndLevel>, { details, at }: Outcome): void => {
    const wasReached = isReached(delivery);
    if (rise(delivery, level, at)) {
      delivery.reason = details.reason ?? null;
      if (sound?.t0 && delivery.audible && !wasReached) {
        delivery.late = at > sound.t0 + (delivery.hears === "own" ? FIRST_PACKET_MS : 0);
      }
      ledger.touch(delivery);
    }
    if (level === "sent") return;
    count(delivery, "joined");
    // What answers only after the sound has to be silenced.
    if (isListening(delivery) && soundWasOver && !wasReached) tellStop([delivery], "ended");
    // What shows text only has nothing more to prove, and after the sound this was the channel's last word.
    if (!delivery.audible || (delivery.hears === "group" && soundWasOver)) over(delivery, null, null, at);
  };

  /** What has not been reached when it is too late for asking. */
  const tooLate = (): void => {
    closed = true;
    const lost = living().filter((delivery) => !isReached(delivery));
    const unanswered = lost.filter(wasGiven);
    for (const delivery of unanswered) delivery.deviceShowed = "silence";
    tellStop(unanswered, "expired");
    endAll(lost, "expired", lateWords);
  };

  const expectEnd = (): void => {
    const restMs = endsAt - clock.monotonicMs();
    if (restMs <= 0) tooLate();
    else after(Math.min(restMs, LONGEST_TIMER_MS), expectEnd);
  };

  const audioFor = ({ hears, reached }: Delivery): AudioTarget | null => {
    const target = hears === "nothing" ? null : needs.targets[hears];
    // What has joined is told of it again, so that it can be silenced.
    return reached || (sound && !sound.over) ? target : null;
  };

  const live: LiveBroadcast = {
    id: shared.notificationId,
    priority: shared.priority,
    mayWait: needs.mayWait,
    sound,
    get closed() {
      return closed;
    },
    deliveries,
    handedOver: handedOver.given,
    finished: finished.given,
    // A text goes past a zone, whatever that plays.
    takesDevice: ({ hears }) => hears !== "own" || (sound !== null && !sound.over),
    asked(delivery) {
      asked(delivery);
      look();
    },
    end,
    drop,
    add(added) {
      for (const delivery of added) {
        deliveries.add(delivery);
        open++;
        unasked++;
        if (delivery.hears === "group") counts.phones++;
        if (delivery.hears === "own") counts.zones++;
        if (delivery.reached) count(delivery, "joined");
        const waitMs = (delivery.retryAt ?? 0) - clock.now();
        if (waitMs > 0) {
          delivery.place = "rests";
          after(waitMs, () => retry(delivery));
          asked(delivery);
        } else dispatcher.queue(delivery);
      }
    },
    allAdded() {
      if (complete) return look();
      complete = true;
      if (sound) after(START_AFTER_MS[shared.class] - (clock.monotonicMs() - began), start);
      if (!needs.givenUp) expectEnd();
      look();
    },
    item(delivery, device: ReachedDevice) {
      const audio = audioFor(delivery);
      const { pk: deliveryId, reached, level } = delivery;
      delivery.audible = audio !== null;
      if (reached) {
        const proven = isReached(delivery) ? (level as "accepted") : "sent";
        return { ...shared, audio, deliveryId, device, attempt: delivery.attempt, reached: proven };
      }
      delivery.attempt++;
      // After a crash, what was asked must be told from what was not: it may have joined without anybody knowing.
      ledger.touch(delivery);
      return { ...shared, audio, deliveryId, device, attempt: delivery.attempt };
    },
    takeOutcome(delivery, outcome) {
      if (delivery.endedAt !== null) return;
      dispatcher.answered(delivery);
      if (isEndLevel(outcome.level)) failed(delivery, outcome);
      else proven(delivery, outcome.level, outcome);
      look();
    },
    async openZone(target) {
      if (!sound) return;
      await sound.open(target);
      counts.zonesReady++;
      look();
      await sound.started(target);
    },
    soundIsOver() {
      soundWasOver = true;
      const all = living();
      tellStop(all.filter(isListening), "ended");
      endAll(
        all.filter((delivery) => isPlaying(delivery) || delivery.hears === "own"),
        "expired",
        tooLateToHear,
      );
      after(PROOF_MS, () => {
        // What has not been asked yet still gets the text.
        const silent = living().filter((delivery) => isReached(delivery) || (delivery.audible && wasGiven(delivery)));
        tellStop(
          silent.filter((delivery) => !isReached(delivery)),
          "expired",
        );
        endAll(silent, "expired", tooLateToHear);
      });
    },
    halt(reason) {
      closed = true;
      sound?.stop();
      // Texts stay on displays after the delivery has ended.
      const given = [...deliveries].filter((delivery) => wasGiven(delivery) || delivery.acceptedAt !== null);
      tellStop(given, reason === "interrupted" ? "expired" : reason);
      endAll(living(), "expired", () => HALT_WORDS[reason]);
    },
  };
  return live;
}

const WITHOUT_WORDS = "The channel gave no reason.";

function isPlaying(delivery: Delivery): boolean {
  return delivery.playingAt !== null;
}

/** It has joined the pooled group. */
function isListening(delivery: Delivery): boolean {
  return delivery.hears === "group" && delivery.audible && isReached(delivery);
}

function tooLateToHear(delivery: Delivery): string | null {
  return isReached(delivery) ? null : "The sound was over before it answered.";
}

function wasGiven(delivery: Delivery): boolean {
  return delivery.place === "out" || delivery.place === "followed";
}

function lateWords(delivery: Delivery): string {
  if (delivery.place === "held") return "The device was busy with another message until it was too late.";
  if (delivery.place === "queued") return `The channel ${delivery.provider} did not take it in time.`;
  if (delivery.place === "rests") return delivery.reason ?? WITHOUT_WORDS;
  return "No answer in time.";
}

/** A promise and the way to keep it. */
function createSignal(): { given: Promise<void>; give(): void } {
  let give = (): void => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give };
}
