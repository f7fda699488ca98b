import type { Clock, DeliveryItem, PluginContext, StopRequest } from "#plugin-api";
import { CLEAR_PAGE, type ExecuteItem, playFile, playSound, STOP_ANY_SOUND, showPage, stopSound } from "./execute.ts";
import { hedged } from "./hedge.ts";
import type { Pages } from "./pages.ts";
import { type Phone, readPhone } from "./phone.ts";
import type { AskPhone } from "./phone-exchange.ts";
import { LAST_LANE, type PhoneTurns } from "./phone-turns.ts";
import type { Pushed } from "./push-verdict.ts";
import type { Pusher, PushOutcome } from "./pusher.ts";
import type { StreamEvents } from "./stream-events.ts";
import {
  hasDropped,
  provesSound,
  readStreamStatistics,
  STATISTICS_REQUEST,
  type StreamStatistics,
} from "./stream-statistics.ts";

/** One delivery from its arrival until it is stopped or has failed. */
interface Delivery {
  readonly item: DeliveryItem;
  readonly phone: Phone;
  /** Whether this phone plays this message; false for text and for models without sound. */
  readonly audible: boolean;
  state: "waiting" | "asking" | "accepted" | "playing";
  /** Set once it is called off. */
  called: StopRequest["reason"] | null;
  /** What the phone counted when it was asked last. */
  counted: StreamStatistics | null;
  /** When it was taken, and how often its phone was asked what it receives. */
  readonly takenAt: number;
  questions: number;
  /** How often it was asked again because it had dropped the sound, and from when on it may be again (monotonic ms). */
  askedAgain: number;
  mayAskAt: number;
}

/** What deliveries need. */
export interface DeliveriesNeeds {
  clock: Clock;
  outcome: PluginContext["outcome"];
  turns: PhoneTurns;
  ask: AskPhone;
  pusher: Pusher;
  pages: Pages;
  events: Pick<StreamEvents, "expect">;
  log: Pick<PluginContext["log"], "warn">;
}

/** All deliveries of the plugin. */
export interface Deliveries {
  take(items: readonly DeliveryItem[]): void;
  stop(request: StopRequest): void;
  /** Forgets those that nobody called off long after they were of any use. */
  sweep(): void;
}

/** Lane of stops: after emergencies, before everything else. */
const STOP_LANE = 1;
/** When a phone that has accepted is asked what it receives: so long after its answer before. own choice */
const QUESTION_MS = [150, 250, 500, 1_000, 2_000, 4_000, 8_000] as const;
/**
 * The sound of a message begins at the latest 0.4 s (emergency) or 0.7 s after its first phones were asked to join: who is
 * asked before has heard nothing, and a slow phone then answers a second time in vain. @source broadcast.md, Start rule
 */
const FIRST_QUESTION_MS = { emergency: 500, routine: 750 };
/** How often a phone that plays an emergency is asked whether it still does, and the pauses before it is asked again. own choice */
const WATCH_MS = 4_000;
const AGAIN_MS = [1_000, 2_000, 4_000, 8_000, 16_000, 30_000] as const;
/** An emergency is asked for by another way when no answer has come after so long; so many at once. own choice */
const HEDGE_MS = 1_500;
const MOST_HEDGES = 64;
/** A phone that plays its ring tone answers at the end; it is not talked to for so long. own choice */
const RING_MS = 500;
const KEPT_MS = 3_600_000;
const IN_USE = "the phone is in use";
const NO_SOUND = "text only: this model plays no pushed sound";

/** Makes the flow of deliveries: push, accepted, follow up until playing, silence. */
export function createDeliveries(needs: DeliveriesNeeds): Deliveries {
  const { clock, outcome, turns, log } = needs;
  const deliveries = new Map<number, Delivery>();
  /** Whose text each phone shows, as far as is known: what came later is not taken off with what was before. */
  const shown = new Map<string, Delivery>();

  const end = (
    delivery: Delivery,
    level: "failed" | "skipped" | "expired",
    reason: string,
    retryable = false,
  ): void => {
    deliveries.delete(delivery.item.deliveryId);
    outcome(delivery.item.deliveryId, level, { reason, retryable });
  };
  const rise = (delivery: Delivery, level: "accepted" | "playing", reason?: string): void => {
    delivery.state = level;
    outcome(delivery.item.deliveryId, level, reason === undefined ? {} : { reason });
    if (level === "playing") watch(delivery);
  };
  const isOn = (delivery: Delivery): boolean => !delivery.called && deliveries.has(delivery.item.deliveryId);
  /** A phone that drops an emergency is asked again as long as that goes on. */
  const watch = (delivery: Delivery): void => {
    if (delivery.item.class !== "emergency") return;
    clock.after(WATCH_MS, () => {
      if (!isOn(delivery)) return;
      turns.add(LAST_LANE, keyOf(delivery.phone), async () => {
        const { answer } = await needs.ask(delivery.phone, STATISTICS_REQUEST);
        const counted = answer?.status === 200 ? readStreamStatistics(answer.body) : null;
        const dropped = counted !== null && hasDropped(counted, delivery.counted);
        delivery.counted = counted ?? delivery.counted;
        if (dropped) await askAgain(delivery);
        watch(delivery);
      });
    });
  };
  const askAgain = async (delivery: Delivery): Promise<void> => {
    if (!isOn(delivery) || clock.monotonicMs() < delivery.mayAskAt) return;
    const n = ++delivery.askedAgain;
    delivery.mayAskAt = clock.monotonicMs() + (AGAIN_MS[Math.min(n, AGAIN_MS.length) - 1] ?? 0);
    const fault = await playAgain(delivery);
    delivery.counted = null;
    const times = n === 1 ? "once" : `${n} times`;
    const words = `it dropped the sound and was asked again ${times}${fault === null ? "" : `: ${fault}`}`;
    outcome(delivery.item.deliveryId, "playing", { askedAgain: n, reason: words });
  };
  /** Null when the phone took it. The other way comes first, for by that one the phone tells when it stops. */
  const playAgain = async (delivery: Delivery): Promise<string | null> => {
    if ((await byOtherWay(delivery)) === null) return null;
    const { item, phone } = delivery;
    if (!item.audio) return null;
    const again = await takeOver(
      phone,
      { page: null, sound: playSound(item.audio, item.profile.volume) },
      needs.pusher,
    );
    return again.kind === "failed" ? again.reason : again.kind === "busy" ? IN_USE : null;
  };
  const byOtherWay = async (delivery: Delivery): Promise<string | null> => {
    const { item, phone } = delivery;
    if (!item.audio) return "there is no sound";
    const onStopped = needs.events.expect(() => {
      if (isOn(delivery)) turns.add(item.priority, keyOf(phone), () => askAgain(delivery));
    });
    return needs.pusher.media(phone, { audio: item.audio, volume: item.profile.volume, onStopped });
  };
  let hedges = 0;
  /** An emergency waits for no phone that may not have heard the first push. */
  const reachWell = async (delivery: Delivery): Promise<PushOutcome> => {
    const first = reach(delivery, needs);
    const { item, audible } = delivery;
    if (item.class !== "emergency" || !audible || item.profile.skipPhonesInUse) return first;
    const second = async (): Promise<string | null> => {
      if (hedges >= MOST_HEDGES) return "too many are asked by another way";
      hedges++;
      return byOtherWay(delivery).finally(() => hedges--);
    };
    return hedged(first, second, { clock, afterMs: HEDGE_MS });
  };
  const start = async (delivery: Delivery): Promise<void> => {
    if (delivery.called) return;
    if (clock.now() > delivery.item.notAfter)
      return end(delivery, "expired", "its time was over before the phone was asked");
    delivery.state = "asking";
    const result = await reachWell(delivery);
    if (result.kind === "busy") return end(delivery, "skipped", IN_USE);
    if (result.kind === "failed") return end(delivery, "failed", result.reason, result.retryable);
    const silent = delivery.item.audio && !delivery.audible ? NO_SOUND : undefined;
    rise(delivery, "accepted", result.reason ?? silent);
    nowShown(delivery, delivery.item.profile.durationMs);
    ring(delivery);
    followUp(delivery);
  };
  /** The text is on the display, for `forMs`; null for as long as the message says. */
  const nowShown = (delivery: Delivery, forMs: number | null): void => {
    if (!showsPage(delivery)) return;
    const key = keyOf(delivery.phone);
    shown.set(key, delivery);
    if (forMs === null) return;
    clock.after(Math.max(0, forMs), () => {
      if (shown.get(key) !== delivery) return;
      turns.add(STOP_LANE, key, async () => {
        if (shown.get(key) !== delivery) return;
        shown.delete(key);
        const fault = await needs.pusher.command(delivery.phone, [CLEAR_PAGE]);
        if (fault !== null) log.warn({ phone: delivery.phone.name, fault }, "a text could not be taken off");
      });
    });
  };
  /** A message without sound is heard by the phone's own ring tone. */
  const ring = (delivery: Delivery): void => {
    const { item, phone, audible } = delivery;
    const { ringtone } = item.profile;
    if (ringtone === null || audible || phone.model.kind === "no-rtp") return;
    turns.add(LAST_LANE, keyOf(phone), async () => {
      if (delivery.called) return;
      const played = needs.pusher.command(phone, [playFile(ringtone)]).then((fault) => {
        if (fault !== null) log.warn({ phone: phone.name, ringtone, fault }, "a ring tone was not played");
      });
      // What comes next for the phone does not wait until it has played.
      await Promise.race([played, new Promise<void>((resolve) => void clock.after(RING_MS, resolve))]);
    });
  };
  const followUp = (delivery: Delivery): void => {
    if (!delivery.audible || delivery.state !== "accepted" || delivery.called) return;
    const pauseMs = QUESTION_MS[Math.min(delivery.questions++, QUESTION_MS.length - 1)] ?? 0;
    const delayMs = Math.max(pauseMs, delivery.takenAt + FIRST_QUESTION_MS[delivery.item.class] - clock.monotonicMs());
    clock.after(delayMs, () => {
      if (delivery.called || !deliveries.has(delivery.item.deliveryId)) return;
      turns.add(LAST_LANE, keyOf(delivery.phone), async () => {
        if (!delivery.called && (await look(delivery))) followUp(delivery);
      });
    });
  };
  /** Asks what the phone receives; false when it has no statistics and need not be asked again. */
  const look = async (delivery: Delivery): Promise<boolean> => {
    const { answer } = await needs.ask(delivery.phone, STATISTICS_REQUEST);
    if (!answer) return true;
    const counted = answer.status === 200 ? readStreamStatistics(answer.body) : null;
    if (!counted) return answer.status >= 500;
    const proven = delivery.item.audio !== null && provesSound(counted, delivery.counted, delivery.item.audio);
    delivery.counted = counted;
    if (proven && delivery.state === "accepted") rise(delivery, "playing");
    return true;
  };
  const silence = async (delivery: Delivery): Promise<void> => {
    const { item, phone, state } = delivery;
    if (state !== "accepted" && state !== "playing") return;
    if (delivery.called === "ended" && delivery.audible && state === "accepted") await look(delivery);
    deliveries.delete(item.deliveryId);
    const isCovered = (shown.get(keyOf(phone)) ?? delivery) !== delivery;
    const [first, ...more] = stopItems(delivery, isCovered);
    if (!item.profile.persistentText && !isCovered) shown.delete(keyOf(phone));
    const fault = first ? await needs.pusher.command(phone, [first, ...more]) : null;
    const level = delivery.state === "playing" ? "playing" : "accepted";
    outcome(item.deliveryId, level, fault === null ? {} : { reason: `the phone could not be silenced: ${fault}` });
  };
  const callOff = (delivery: Delivery, reason: StopRequest["reason"]): void => {
    if (delivery.called) return;
    delivery.called = reason;
    if (delivery.state !== "waiting") turns.add(STOP_LANE, keyOf(delivery.phone), () => silence(delivery));
    else end(delivery, reason === "expired" ? "expired" : "skipped", `${WORDS[reason]} before the phone was asked`);
  };
  const take = (item: DeliveryItem, phone: Phone): void => {
    const audible = item.audio !== null && phone.model.kind !== "no-rtp";
    const delivery: Delivery = {
      item,
      phone,
      audible,
      state: "waiting",
      called: null,
      counted: null,
      takenAt: clock.monotonicMs(),
      questions: 0,
      askedAgain: 0,
      mayAskAt: 0,
    };
    deliveries.set(item.deliveryId, delivery);
    if (item.reached === undefined) turns.add(item.priority, keyOf(phone), () => start(delivery));
    else {
      delivery.state = item.reached === "playing" ? "playing" : "accepted";
      const { durationMs } = item.profile;
      nowShown(delivery, durationMs && item.sentAt + durationMs - clock.now());
      if (item.reached === "playing") watch(delivery);
      else followUp(delivery);
    }
  };
  return {
    take(items) {
      for (const item of items) {
        const { phone, fault } = readPhone(item.device);
        if (phone) take(item, phone);
        else outcome(item.deliveryId, "failed", { reason: fault, retryable: false });
      }
    },
    stop({ deliveryIds, reason }) {
      for (const id of deliveryIds) {
        const delivery = deliveries.get(id);
        if (delivery) callOff(delivery, reason);
      }
    },
    sweep() {
      const before = clock.now() - KEPT_MS;
      for (const [id, { item }] of deliveries) if (item.notAfter < before) deliveries.delete(id);
      for (const [key, { item }] of shown)
        if (item.notAfter < before && item.profile.durationMs === null) shown.delete(key);
    },
  };
}

const WORDS: Readonly<Record<StopRequest["reason"], string>> = {
  aborted: "the message was ended",
  expired: "the message expired",
  preempted: "a more urgent message came",
  ended: "the sound was over",
};

function keyOf(phone: Phone): string {
  return `${phone.host} ${phone.port}`;
}

/** Pushes page and sound, with the busy rule: a phone in use is left alone or taken over, as the profile says. */
async function reach({ item, phone, audible }: Delivery, { pusher, pages }: DeliveriesNeeds): Promise<PushOutcome> {
  const sound = audible && item.audio ? playSound(item.audio, item.profile.volume) : null;
  const page = showPage(pages.add(item), item);
  if (!item.profile.skipPhonesInUse)
    return takeOver(phone, { page: showsPage({ item, audible }) ? page : null, sound }, pusher);
  // Sound starts at once whatever the phone does, so the page alone must ask whether it is idle.
  const asked = await pusher.push(phone, { page: { ...page, priority: 2 }, sound: null });
  if (asked.kind !== "accepted" || !sound) return asked;
  // After a try whose answer was lost, the sound that keeps an idle phone busy is this very message's.
  if (item.attempt > 1) return takeOver(phone, { page: null, sound }, pusher);
  return pusher.push(phone, { page: null, sound });
}

/** Pushes; a phone that receives other sound is told to stop that, and pushed to once more. */
async function takeOver(phone: Phone, pushed: Pushed, pusher: Pusher): Promise<PushOutcome> {
  const first = await pusher.push(phone, pushed);
  if (first.kind !== "busy") return first;
  await pusher.command(phone, [STOP_ANY_SOUND]);
  const second = await pusher.push(phone, { page: first.sound ? null : pushed.page, sound: pushed.sound });
  if (second.kind !== "busy") return second;
  return { kind: "failed", reason: "the phone keeps receiving other sound", retryable: true };
}

/** The page that asks whether a phone is idle is shown whatever the message is. */
function showsPage({ item, audible }: Pick<Delivery, "item" | "audible">): boolean {
  return !audible || item.profile.showsText || item.profile.skipPhonesInUse;
}

function stopItems({ item, audible }: Delivery, isCovered: boolean): ExecuteItem[] {
  const items = audible && item.audio ? [stopSound(item.audio)] : [];
  const stays = item.profile.persistentText || isCovered || !showsPage({ item, audible });
  return stays ? items : [...items, CLEAR_PAGE];
}
