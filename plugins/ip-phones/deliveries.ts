import type { Clock, DeliveryItem, PluginContext, StopRequest } from "#plugin-api";
import { hedgedRequest } from "./hedged-request.ts";
import type { PageStore } from "./page-store.ts";
import { type PhoneAddress, phoneAddressOf } from "./phone.ts";
import type { RequestPhone } from "./phone-client.ts";
import { LOWEST_PRIORITY, type PhoneTaskQueue } from "./phone-task-queue.ts";
import {
  CLEAR_PAGE,
  type ExecuteItem,
  playFile,
  playSound,
  STOP_ANY_SOUND,
  showPage,
  stopSound,
} from "./push-request.ts";
import type { PushItems } from "./push-result.ts";
import type { Pusher, PushOutcome } from "./pusher.ts";
import type { StreamEvents } from "./stream-events.ts";
import {
  hasDropped,
  parseStreamStatistics,
  provesSound,
  STATISTICS_REQUEST,
  type StreamStatistics,
} from "./stream-statistics.ts";

/** One delivery from its arrival until it is stopped or has failed. */
interface PhoneDelivery {
  readonly item: DeliveryItem;
  readonly phone: PhoneAddress;
  /** Whether this phone plays this message; false for text and for models without sound. */
  readonly audible: boolean;
  state: "waiting" | "asking" | "accepted" | "playing";
  /** Set once it is called off. */
  cancelReason: StopRequest["reason"] | null;
  /** What the phone counted when it was asked last. */
  lastStatistics: StreamStatistics | null;
  /** When it was taken, and how often its phone was asked what it receives. */
  readonly startedAt: number;
  statusQueries: number;
  /** How often it was asked again because it had dropped the sound, and from when on it may be again (monotonic ms). */
  replays: number;
  nextReplayAt: number;
}

/** What deliveries need. */
export interface PhoneDeliveriesDeps {
  clock: Clock;
  outcome: PluginContext["outcome"];
  tasks: PhoneTaskQueue;
  request: RequestPhone;
  pusher: Pusher;
  pages: PageStore;
  events: Pick<StreamEvents, "subscribe">;
  log: Pick<PluginContext["log"], "warn">;
}

/** All deliveries of the plugin. */
export interface PhoneDeliveries {
  start(items: readonly DeliveryItem[]): void;
  stop(request: StopRequest): void;
  /** Forgets those that nobody called off long after they were of any use. */
  sweep(): void;
}

/** Lane of stops: after emergencies, before everything else. */
const STOP_PRIORITY = 1;
/** When a phone that has accepted is asked what it receives: so long after its answer before. own choice */
const STATUS_QUERY_DELAYS_MS = [150, 250, 500, 1_000, 2_000, 4_000, 8_000] as const;
/**
 * The sound of a message begins at the latest 0.4 s (emergency) or 0.7 s after its first phones were asked to join: who is
 * asked before has heard nothing, and a slow phone then answers a second time in vain. @source broadcast.md, Start rule
 */
const FIRST_STATUS_QUERY_MS = { emergency: 500, routine: 750 };
/** How often a phone that plays an emergency is asked whether it still does, and the pauses before it is asked again. own choice */
const WATCH_MS = 4_000;
const REPLAY_DELAYS_MS = [1_000, 2_000, 4_000, 8_000, 16_000, 30_000] as const;
/** An emergency is asked for by another way when no answer has come after so long; so many at once. own choice */
const HEDGE_DELAY_MS = 1_500;
const MAX_HEDGES = 64;
/** A phone that plays its ring tone answers at the end; it is not talked to for so long. own choice */
const RING_MS = 500;
const RETENTION_MS = 3_600_000;
const IN_USE = "the phone is in use";
const NO_SOUND = "text only: this model plays no pushed sound";

/** Makes the flow of deliveries: push, accepted, follow up until playing, silence. */
export function createPhoneDeliveries(needs: PhoneDeliveriesDeps): PhoneDeliveries {
  const { clock, outcome, tasks, log } = needs;
  const deliveries = new Map<number, PhoneDelivery>();
  /** Whose text each phone shows, as far as is known: what came later is not taken off with what was before. */
  const shown = new Map<string, PhoneDelivery>();

  const end = (
    delivery: PhoneDelivery,
    level: "failed" | "skipped" | "expired",
    reason: string,
    retryable = false,
  ): void => {
    deliveries.delete(delivery.item.deliveryId);
    outcome(delivery.item.deliveryId, level, { reason, retryable });
  };
  const promote = (delivery: PhoneDelivery, level: "accepted" | "playing", reason?: string): void => {
    delivery.state = level;
    outcome(delivery.item.deliveryId, level, reason === undefined ? {} : { reason });
    if (level === "playing") watch(delivery);
  };
  const isActive = (delivery: PhoneDelivery): boolean =>
    !delivery.cancelReason && deliveries.has(delivery.item.deliveryId);
  /** A phone that drops an emergency is asked again as long as that goes on. */
  const watch = (delivery: PhoneDelivery): void => {
    if (delivery.item.class !== "emergency") return;
    clock.after(WATCH_MS, () => {
      if (!isActive(delivery)) return;
      tasks.add(LOWEST_PRIORITY, phoneKey(delivery.phone), async () => {
        const { answer } = await needs.request(delivery.phone, STATISTICS_REQUEST);
        const counted = answer?.status === 200 ? parseStreamStatistics(answer.body) : null;
        const dropped = counted !== null && hasDropped(counted, delivery.lastStatistics);
        delivery.lastStatistics = counted ?? delivery.lastStatistics;
        if (dropped) await replay(delivery);
        watch(delivery);
      });
    });
  };
  const replay = async (delivery: PhoneDelivery): Promise<void> => {
    if (!isActive(delivery) || clock.monotonicMs() < delivery.nextReplayAt) return;
    const n = ++delivery.replays;
    delivery.nextReplayAt = clock.monotonicMs() + (REPLAY_DELAYS_MS[Math.min(n, REPLAY_DELAYS_MS.length) - 1] ?? 0);
    const fault = await requestPlayback(delivery);
    delivery.lastStatistics = null;
    const times = n === 1 ? "once" : `${n} times`;
    const words = `it dropped the sound and was asked again ${times}${fault === null ? "" : `: ${fault}`}`;
    outcome(delivery.item.deliveryId, "playing", { askedAgain: n, reason: words });
  };
  /** Null when the phone took it. The other way comes first, for by that one the phone tells when it stops. */
  const requestPlayback = async (delivery: PhoneDelivery): Promise<string | null> => {
    if ((await playByMediaApi(delivery)) === null) return null;
    const { item, phone } = delivery;
    if (!item.audio) return null;
    const again = await pushTakingOver(
      phone,
      { page: null, sound: playSound(item.audio, item.profile.volume) },
      needs.pusher,
    );
    return again.kind === "failed" ? again.reason : again.kind === "busy" ? IN_USE : null;
  };
  const playByMediaApi = async (delivery: PhoneDelivery): Promise<string | null> => {
    const { item, phone } = delivery;
    if (!item.audio) return "there is no sound";
    const onStopped = needs.events.subscribe(() => {
      if (isActive(delivery)) tasks.add(item.priority, phoneKey(phone), () => replay(delivery));
    });
    return needs.pusher.playMedia(phone, { audio: item.audio, volume: item.profile.volume, onStopped });
  };
  let hedges = 0;
  /** An emergency waits for no phone that may not have heard the first push. */
  const pushHedged = async (delivery: PhoneDelivery): Promise<PushOutcome> => {
    const first = pushPageAndSound(delivery, needs);
    const { item, audible } = delivery;
    if (item.class !== "emergency" || !audible || item.profile.skipPhonesInUse) return first;
    const second = async (): Promise<string | null> => {
      if (hedges >= MAX_HEDGES) return "too many are asked by another way";
      hedges++;
      return playByMediaApi(delivery).finally(() => hedges--);
    };
    return hedgedRequest(first, second, { clock, afterMs: HEDGE_DELAY_MS });
  };
  const pushMessage = async (delivery: PhoneDelivery): Promise<void> => {
    if (delivery.cancelReason) return;
    if (clock.now() > delivery.item.notAfter)
      return end(delivery, "expired", "its time was over before the phone was asked");
    delivery.state = "asking";
    const result = await pushHedged(delivery);
    if (result.kind === "busy") return end(delivery, "skipped", IN_USE);
    if (result.kind === "failed") return end(delivery, "failed", result.reason, result.retryable);
    const silent = delivery.item.audio && !delivery.audible ? NO_SOUND : undefined;
    promote(delivery, "accepted", result.reason ?? silent);
    trackShownText(delivery, delivery.item.profile.durationMs);
    playRingtone(delivery);
    followUp(delivery);
  };
  /** The text is on the display, for `forMs`; null for as long as the message says. */
  const trackShownText = (delivery: PhoneDelivery, forMs: number | null): void => {
    if (!showsPage(delivery)) return;
    const key = phoneKey(delivery.phone);
    shown.set(key, delivery);
    if (forMs === null) return;
    clock.after(Math.max(0, forMs), () => {
      if (shown.get(key) !== delivery) return;
      tasks.add(STOP_PRIORITY, key, async () => {
        if (shown.get(key) !== delivery) return;
        shown.delete(key);
        const fault = await needs.pusher.execute(delivery.phone, [CLEAR_PAGE]);
        if (fault !== null) log.warn({ phone: delivery.phone.name, fault }, "a text could not be taken off");
      });
    });
  };
  /** A message without sound is heard by the phone's own ring tone. */
  const playRingtone = (delivery: PhoneDelivery): void => {
    const { item, phone, audible } = delivery;
    const { ringtone } = item.profile;
    if (ringtone === null || audible || phone.model.kind === "no-rtp") return;
    tasks.add(LOWEST_PRIORITY, phoneKey(phone), async () => {
      if (delivery.cancelReason) return;
      const played = needs.pusher.execute(phone, [playFile(ringtone)]).then((fault) => {
        if (fault !== null) log.warn({ phone: phone.name, ringtone, fault }, "a ring tone was not played");
      });
      // What comes next for the phone does not wait until it has played.
      await Promise.race([played, new Promise<void>((resolve) => void clock.after(RING_MS, resolve))]);
    });
  };
  const followUp = (delivery: PhoneDelivery): void => {
    if (!delivery.audible || delivery.state !== "accepted" || delivery.cancelReason) return;
    const pauseMs = STATUS_QUERY_DELAYS_MS[Math.min(delivery.statusQueries++, STATUS_QUERY_DELAYS_MS.length - 1)] ?? 0;
    const delayMs = Math.max(
      pauseMs,
      delivery.startedAt + FIRST_STATUS_QUERY_MS[delivery.item.class] - clock.monotonicMs(),
    );
    clock.after(delayMs, () => {
      if (delivery.cancelReason || !deliveries.has(delivery.item.deliveryId)) return;
      tasks.add(LOWEST_PRIORITY, phoneKey(delivery.phone), async () => {
        if (!delivery.cancelReason && (await queryStatus(delivery))) followUp(delivery);
      });
    });
  };
  /** Asks what the phone receives; false when it has no statistics and need not be asked again. */
  const queryStatus = async (delivery: PhoneDelivery): Promise<boolean> => {
    const { answer } = await needs.request(delivery.phone, STATISTICS_REQUEST);
    if (!answer) return true;
    const counted = answer.status === 200 ? parseStreamStatistics(answer.body) : null;
    if (!counted) return answer.status >= 500;
    const proven = delivery.item.audio !== null && provesSound(counted, delivery.lastStatistics, delivery.item.audio);
    delivery.lastStatistics = counted;
    if (proven && delivery.state === "accepted") promote(delivery, "playing");
    return true;
  };
  const stopPlayback = async (delivery: PhoneDelivery): Promise<void> => {
    const { item, phone, state } = delivery;
    if (state !== "accepted" && state !== "playing") return;
    if (delivery.cancelReason === "ended" && delivery.audible && state === "accepted") await queryStatus(delivery);
    deliveries.delete(item.deliveryId);
    const isCovered = (shown.get(phoneKey(phone)) ?? delivery) !== delivery;
    const [first, ...more] = stopItems(delivery, isCovered);
    if (!item.profile.persistentText && !isCovered) shown.delete(phoneKey(phone));
    const fault = first ? await needs.pusher.execute(phone, [first, ...more]) : null;
    const level = delivery.state === "playing" ? "playing" : "accepted";
    outcome(item.deliveryId, level, fault === null ? {} : { reason: `the phone could not be silenced: ${fault}` });
  };
  const cancel = (delivery: PhoneDelivery, reason: StopRequest["reason"]): void => {
    if (delivery.cancelReason) return;
    delivery.cancelReason = reason;
    if (delivery.state !== "waiting") tasks.add(STOP_PRIORITY, phoneKey(delivery.phone), () => stopPlayback(delivery));
    else
      end(delivery, reason === "expired" ? "expired" : "skipped", `${STOP_REASONS[reason]} before the phone was asked`);
  };
  const startDelivery = (item: DeliveryItem, phone: PhoneAddress): void => {
    const audible = item.audio !== null && phone.model.kind !== "no-rtp";
    const delivery: PhoneDelivery = {
      item,
      phone,
      audible,
      state: "waiting",
      cancelReason: null,
      lastStatistics: null,
      startedAt: clock.monotonicMs(),
      statusQueries: 0,
      replays: 0,
      nextReplayAt: 0,
    };
    deliveries.set(item.deliveryId, delivery);
    if (item.reached === undefined) tasks.add(item.priority, phoneKey(phone), () => pushMessage(delivery));
    else {
      delivery.state = item.reached === "playing" ? "playing" : "accepted";
      const { durationMs } = item.profile;
      trackShownText(delivery, durationMs && item.sentAt + durationMs - clock.now());
      if (item.reached === "playing") watch(delivery);
      else followUp(delivery);
    }
  };
  return {
    start(items) {
      for (const item of items) {
        const { phone, fault } = phoneAddressOf(item.device);
        if (phone) startDelivery(item, phone);
        else outcome(item.deliveryId, "failed", { reason: fault, retryable: false });
      }
    },
    stop({ deliveryIds, reason }) {
      for (const id of deliveryIds) {
        const delivery = deliveries.get(id);
        if (delivery) cancel(delivery, reason);
      }
    },
    sweep() {
      const before = clock.now() - RETENTION_MS;
      for (const [id, { item }] of deliveries) if (item.notAfter < before) deliveries.delete(id);
      for (const [key, { item }] of shown)
        if (item.notAfter < before && item.profile.durationMs === null) shown.delete(key);
    },
  };
}

const STOP_REASONS: Readonly<Record<StopRequest["reason"], string>> = {
  aborted: "the message was ended",
  expired: "the message expired",
  preempted: "a more urgent message came",
  ended: "the sound was over",
};

function phoneKey(phone: PhoneAddress): string {
  return `${phone.host} ${phone.port}`;
}

/** Pushes page and sound, with the busy rule: a phone in use is left alone or taken over, as the profile says. */
async function pushPageAndSound(
  { item, phone, audible }: PhoneDelivery,
  { pusher, pages }: PhoneDeliveriesDeps,
): Promise<PushOutcome> {
  const sound = audible && item.audio ? playSound(item.audio, item.profile.volume) : null;
  const page = showPage(pages.add(item), item);
  if (!item.profile.skipPhonesInUse)
    return pushTakingOver(phone, { page: showsPage({ item, audible }) ? page : null, sound }, pusher);
  // Sound starts at once whatever the phone does, so the page alone must ask whether it is idle.
  const asked = await pusher.push(phone, { page: { ...page, priority: 2 }, sound: null });
  if (asked.kind !== "accepted" || !sound) return asked;
  // After a try whose answer was lost, the sound that keeps an idle phone busy is this very message's.
  if (item.attempt > 1) return pushTakingOver(phone, { page: null, sound }, pusher);
  return pusher.push(phone, { page: null, sound });
}

/** Pushes; a phone that receives other sound is told to stop that, and pushed to once more. */
async function pushTakingOver(phone: PhoneAddress, pushed: PushItems, pusher: Pusher): Promise<PushOutcome> {
  const first = await pusher.push(phone, pushed);
  if (first.kind !== "busy") return first;
  await pusher.execute(phone, [STOP_ANY_SOUND]);
  const second = await pusher.push(phone, { page: first.sound ? null : pushed.page, sound: pushed.sound });
  if (second.kind !== "busy") return second;
  return { kind: "failed", reason: "the phone keeps receiving other sound", retryable: true };
}

/** The page that asks whether a phone is idle is shown whatever the message is. */
function showsPage({ item, audible }: Pick<PhoneDelivery, "item" | "audible">): boolean {
  return !audible || item.profile.showsText || item.profile.skipPhonesInUse;
}

function stopItems({ item, audible }: PhoneDelivery, isCovered: boolean): ExecuteItem[] {
  const items = audible && item.audio ? [stopSound(item.audio)] : [];
  const stays = item.profile.persistentText || isCovered || !showsPage({ item, audible });
  return stays ? items : [...items, CLEAR_PAGE];
}
