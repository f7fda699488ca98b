import {
  type Clock,
  type DeliveryItem,
  type OutcomeDetails,
  type PluginContext,
  type StopRequest,
  within,
} from "#plugin-api";
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
import { sentence } from "./sentences.ts";
import type { StreamEvents } from "./stream-events.ts";
import {
  hasDropped,
  parseStreamStatistics,
  provesSound,
  STATISTICS_REQUEST,
  type StreamStatistics,
} from "./stream-statistics.ts";

/** A delivery until it is stopped or has failed. */
interface PhoneDelivery {
  readonly item: DeliveryItem;
  readonly phone: PhoneAddress;
  /** True if this phone plays this message; false for text and for models without audio. */
  readonly audible: boolean;
  state: "waiting" | "asking" | "accepted" | "playing";
  /** Set when the delivery is cancelled. */
  cancelReason: StopRequest["reason"] | null;
  /** Latest stream statistics of the phone. */
  lastStatistics: StreamStatistics | null;
  /** Start of the delivery (monotonic ms), and number of statistics queries. */
  readonly startedAt: number;
  statusQueries: number;
  /** Number of replays after the phone dropped the stream, and earliest next replay (monotonic ms). */
  replays: number;
  nextReplayAt: number;
}

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

export interface PhoneDeliveries {
  start(items: readonly DeliveryItem[]): void;
  stop(request: StopRequest): void;
  /** Drops deliveries that were never stopped, long after `notAfter`. */
  sweep(): void;
}

/** Priority of stop commands: after emergencies, before everything else. */
const STOP_PRIORITY = 1;
/** Delays between statistics queries after acceptance. */
const STATUS_QUERY_DELAYS_MS = [150, 250, 500, 1_000, 2_000, 4_000, 8_000] as const;
/**
 * The audio starts at most 0.4 s (emergency) or 0.7 s after the first phones were asked to join. An earlier query would
 * find no packets and cost a slow phone a second request.
 * @source docs/decisions/0016-notification-engine.md
 */
const FIRST_STATUS_QUERY_MS = { emergency: 500, routine: 750 };
/** Interval of checks whether a phone still plays an emergency, and backoff of replays. */
const WATCH_MS = 4_000;
const REPLAY_DELAYS_MS = [1_000, 2_000, 4_000, 8_000, 16_000, 30_000] as const;
/** An emergency push without a response for this time is hedged by a media API request; limit of concurrent hedges. */
const HEDGE_DELAY_MS = 1_500;
const MAX_HEDGES = 64;
/** A phone responds to `Play` only after playback; other requests wait this long. */
const RING_MS = 500;
const RETENTION_MS = 3_600_000;
const IN_USE = sentence("in-use");
const NO_AUDIO = sentence("no-audio");

/** Runs deliveries: push, follow up until playing, stop. */
export function createPhoneDeliveries(deps: PhoneDeliveriesDeps): PhoneDeliveries {
  const { clock, outcome, tasks, log } = deps;
  const deliveries = new Map<number, PhoneDelivery>();
  /** Delivery whose text each phone shows, so that stopping an older delivery does not clear a newer text. */
  const shown = new Map<string, PhoneDelivery>();

  const end = (
    delivery: PhoneDelivery,
    level: "failed" | "skipped" | "expired",
    reason: string,
    flags: Pick<OutcomeDetails, "retryable" | "inconclusive" | "noNetwork"> = {},
  ): void => {
    deliveries.delete(delivery.item.deliveryId);
    outcome(delivery.item.deliveryId, level, { reason, ...flags });
  };
  const promote = (delivery: PhoneDelivery, level: "accepted" | "playing", details: OutcomeDetails = {}): void => {
    delivery.state = level;
    outcome(delivery.item.deliveryId, level, details);
    if (level === "playing") watch(delivery);
  };
  const isActive = (delivery: PhoneDelivery): boolean => !delivery.cancelReason && isCurrent(delivery);
  /** False after the end of the delivery, also when the same delivery has been handed over once more since. */
  const isCurrent = (delivery: PhoneDelivery): boolean => deliveries.get(delivery.item.deliveryId) === delivery;
  /** Replays an emergency each time a phone drops it, until it ends. */
  const watch = (delivery: PhoneDelivery): void => {
    if (delivery.item.class !== "emergency") return;
    clock.after(WATCH_MS, () => {
      if (!isActive(delivery)) return;
      tasks.add(LOWEST_PRIORITY, phoneKey(delivery.phone), async () => {
        const { answer } = await deps.request(delivery.phone, STATISTICS_REQUEST);
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
    const error = await requestPlayback(delivery);
    delivery.lastStatistics = null;
    const reason = error === null ? sentence("replayed", { count: n }) : sentence("replay-failed", { count: n, error });
    outcome(delivery.item.deliveryId, "playing", { askedAgain: n, reason });
  };
  /** Null if accepted, else the reason. The media API comes first, because it notifies when the stream stops. */
  const requestPlayback = async (delivery: PhoneDelivery): Promise<string | null> => {
    if ((await playByMediaApi(delivery)) === null) return null;
    const { item, phone } = delivery;
    if (!item.audio) return null;
    const again = await pushTakingOver(
      phone,
      { page: null, sound: playSound(item.audio, item.profile.volume) },
      deps.pusher,
    );
    return again.kind === "failed" ? again.reason : again.kind === "busy" ? IN_USE : null;
  };
  const playByMediaApi = async (delivery: PhoneDelivery): Promise<string | null> => {
    const { item, phone } = delivery;
    if (!item.audio) return sentence("message-without-audio");
    const onStopped = deps.events.subscribe(() => {
      if (isActive(delivery)) tasks.add(item.priority, phoneKey(phone), () => replay(delivery));
    });
    return deps.pusher.playMedia(phone, { audio: item.audio, volume: item.profile.volume, onStopped });
  };
  let hedges = 0;
  /** Hedges an emergency push in case the phone did not receive it. */
  const pushHedged = async (delivery: PhoneDelivery): Promise<PushOutcome> => {
    const first = pushPageAndSound(delivery, deps);
    const { item, audible } = delivery;
    if (item.class !== "emergency" || !audible || item.profile.skipPhonesInUse) return first;
    const second = async (): Promise<string | null> => {
      if (hedges >= MAX_HEDGES) return sentence("too-many-hedges");
      hedges++;
      return playByMediaApi(delivery).finally(() => hedges--);
    };
    return hedgedRequest(first, second, { clock, afterMs: HEDGE_DELAY_MS });
  };
  const pushMessage = async (delivery: PhoneDelivery): Promise<void> => {
    if (delivery.cancelReason) return;
    if (clock.now() > delivery.item.notAfter)
      return end(delivery, "expired", sentence("expired"), { inconclusive: true });
    delivery.state = "asking";
    const result = await pushHedged(delivery);
    if (result.kind === "busy") return end(delivery, "skipped", IN_USE);
    if (result.kind === "failed") {
      const { reason, retryable, noNetwork } = result;
      return end(delivery, "failed", reason, { retryable, ...(noNetwork && { noNetwork }) });
    }
    const textOnly = delivery.item.audio !== null && !delivery.audible;
    const reason = result.reason ?? (textOnly ? NO_AUDIO : undefined);
    promote(delivery, "accepted", { ...(reason !== undefined && { reason }), ...(textOnly && { textOnly }) });
    trackShownText(delivery, delivery.item.profile.durationMs);
    playRingtone(delivery);
    followUp(delivery);
  };
  /** Records the text on the display, for `forMs`; null for as long as the message lasts. */
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
        const error = await deps.pusher.execute(delivery.phone, [CLEAR_PAGE]);
        if (error !== null)
          log.warn({ event: "phone.clear_failed", phone: delivery.phone.name, error }, "failed to clear display text");
      });
    });
  };
  /** Announces a message without audio by the phone's ring tone. */
  const playRingtone = (delivery: PhoneDelivery): void => {
    const { item, phone, audible } = delivery;
    const { ringtone } = item.profile;
    if (ringtone === null || audible || phone.model.kind === "no-rtp") return;
    tasks.add(LOWEST_PRIORITY, phoneKey(phone), async () => {
      if (delivery.cancelReason) return;
      const played = deps.pusher.execute(phone, [playFile(ringtone)]).then((error) => {
        if (error !== null)
          log.warn({ event: "phone.ringtone_failed", phone: phone.name, ringtone, error }, "failed to play ring tone");
      });
      // The phone's next task does not wait for the end of playback.
      await within(clock, played, { timeoutMs: RING_MS });
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
      if (!isActive(delivery)) return;
      tasks.add(LOWEST_PRIORITY, phoneKey(delivery.phone), async () => {
        if (!delivery.cancelReason && (await queryStatus(delivery))) followUp(delivery);
      });
    });
  };
  /** Queries the stream statistics; false if the phone has none and need not be queried again. */
  const queryStatus = async (delivery: PhoneDelivery): Promise<boolean> => {
    const { answer } = await deps.request(delivery.phone, STATISTICS_REQUEST);
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
    if (isCurrent(delivery)) deliveries.delete(item.deliveryId);
    const isReplaced = (shown.get(phoneKey(phone)) ?? delivery) !== delivery;
    const [first, ...more] = stopItems(delivery, isReplaced);
    if (!item.profile.persistentText && !isReplaced) shown.delete(phoneKey(phone));
    const error = first ? await deps.pusher.execute(phone, [first, ...more]) : null;
    const level = delivery.state === "playing" ? "playing" : "accepted";
    // The next attempt reports for itself.
    if (deliveries.has(item.deliveryId)) return;
    outcome(item.deliveryId, level, error === null ? {} : { reason: sentence("stop-failed", { error }) });
  };
  const cancel = (delivery: PhoneDelivery, reason: StopRequest["reason"]): void => {
    if (delivery.cancelReason) return;
    delivery.cancelReason = reason;
    if (delivery.state !== "waiting") tasks.add(STOP_PRIORITY, phoneKey(delivery.phone), () => stopPlayback(delivery));
    else end(delivery, reason === "expired" ? "expired" : "skipped", STOP_REASONS[reason], { inconclusive: true });
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
        const { phone, error } = phoneAddressOf(item.device);
        if (phone) startDelivery(item, phone);
        else outcome(item.deliveryId, "failed", { reason: error, retryable: false });
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
  aborted: sentence("stopped-aborted"),
  expired: sentence("stopped-expired"),
  preempted: sentence("stopped-preempted"),
  ended: sentence("stopped-ended"),
};

function phoneKey(phone: PhoneAddress): string {
  return `${phone.host} ${phone.port}`;
}

/** Pushes page and audio. A phone in use is skipped or taken over, depending on the profile. */
async function pushPageAndSound(
  { item, phone, audible }: PhoneDelivery,
  { pusher, pages }: PhoneDeliveriesDeps,
): Promise<PushOutcome> {
  const sound = audible && item.audio ? playSound(item.audio, item.profile.volume) : null;
  const page = showPage(pages.add(item), item);
  if (!item.profile.skipPhonesInUse)
    return pushTakingOver(phone, { page: showsPage({ item, audible }) ? page : null, sound }, pusher);
  // Audio starts regardless of the phone's state, so the page alone must test whether the phone is idle.
  const asked = await pusher.push(phone, { page: { ...page, priority: 2 }, sound: null });
  if (asked.kind !== "accepted" || !sound) return asked;
  // After an attempt with a lost response, the audio that keeps an idle phone busy is this message's own.
  if (item.attempt > 1) return pushTakingOver(phone, { page: null, sound }, pusher);
  return pusher.push(phone, { page: null, sound });
}

/** Pushes; if the phone receives another stream, stops that stream and pushes once more. */
async function pushTakingOver(phone: PhoneAddress, pushed: PushItems, pusher: Pusher): Promise<PushOutcome> {
  const first = await pusher.push(phone, pushed);
  if (first.kind !== "busy") return first;
  await pusher.execute(phone, [STOP_ANY_SOUND]);
  const second = await pusher.push(phone, { page: first.sound ? null : pushed.page, sound: pushed.sound });
  if (second.kind !== "busy") return second;
  return { kind: "failed", reason: sentence("other-stream"), retryable: true };
}

/** With `skipPhonesInUse` the page is pushed even for audio-only messages, to test whether the phone is idle. */
function showsPage({ item, audible }: Pick<PhoneDelivery, "item" | "audible">): boolean {
  return !audible || item.profile.showsText || item.profile.skipPhonesInUse;
}

function stopItems({ item, audible }: PhoneDelivery, isReplaced: boolean): ExecuteItem[] {
  const items = audible && item.audio ? [stopSound(item.audio)] : [];
  const stays = item.profile.persistentText || isReplaced || !showsPage({ item, audible });
  return stays ? items : [...items, CLEAR_PAGE];
}
