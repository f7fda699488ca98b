import type { DeviceClaim, DeviceClaims } from "../../devices/device-claims.ts";
import type { Clock } from "../../lib/clock.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type { DeliveryItem } from "../../plugin-api/index.ts";
import type { Delivery } from "./delivery.ts";
import type { DeliveryProviders } from "./delivery-providers.ts";
import { stopDeliveries } from "./stop-deliveries.ts";

/** Hands deliveries to their channels: a window per channel, urgent ones first, unresponsive devices last. */
export interface Dispatcher {
  /** Puts a delivery into its channel's queue. */
  enqueue(delivery: Delivery): void;
  /** The channel has reported on an in-flight delivery: releases its window slot. */
  releaseWindowSlot(delivery: Delivery): void;
  /** The delivery no longer needs its device, though its channel still reports on it. */
  releaseDevice(delivery: Delivery): void;
  /** The delivery has ended: releases its slot and its device. */
  finish(delivery: Delivery): void;
  /** Checks a channel again whose state has changed. */
  wake(provider: string): void;
}

export interface DispatcherDeps {
  clock: Clock;
  providers: DeliveryProviders;
  busy: DeviceClaims;
  find(deliveryPk: number): Delivery | undefined;
  /** The item of each delivery, in order; null for a device that was deleted. */
  createItems(batch: readonly Delivery[]): (DeliveryItem | null)[];
}

/** @source docs/decisions/0018-plugin-api.md: batches of at most 200 */
const MAX_BATCH_ITEMS = 200;
/** Priorities 0..9, each with a lane for devices likely to answer and one for the others. */
const PRIORITY_LANES = 20;

const EMERGENCY = 0;
/** Lanes of emergencies come first. */
const URGENT_LANES = 2;
const PREEMPTED_REASON = sentence("delivery.preempted");

interface ProviderQueue {
  /** First in, first out; `heads` counts those taken. */
  lanes: Delivery[][];
  headIndexes: number[];
  /** Items with the channel without a report; emergencies counted separately, since they wait for no others. */
  inFlight: number;
  emergenciesInFlight: number;
  scheduled: boolean;
}

/** Creates a dispatcher with empty queues. */
export function createDispatcher(deps: DispatcherDeps): Dispatcher {
  const { clock, providers, busy } = deps;
  const queues = new Map<string, ProviderQueue>();

  const queueOf = (provider: string): ProviderQueue => {
    const found = queues.get(provider) ?? createProviderQueue();
    queues.set(provider, found);
    return found;
  };

  const schedule = (provider: string): void => {
    const channel = queueOf(provider);
    if (channel.scheduled) return;
    channel.scheduled = true;
    clock.defer(() => {
      channel.scheduled = false;
      dispatchBatch(provider, channel);
    });
  };

  const dispatchBatch = (provider: string, channel: ProviderQueue): void => {
    const state = providers.state(provider);
    if (state === "restarting") return;
    if (state !== "running") {
      failQueued(provider, channel, state);
      return;
    }
    const isUrgent = hasQueued(channel, URGENT_LANES);
    const room = Math.min(
      MAX_BATCH_ITEMS,
      providers.window(provider) - (isUrgent ? channel.emergenciesInFlight : channel.inFlight),
    );
    if (room <= 0) return;
    const preempted: Delivery[] = [];
    const batch = claimBatch(channel, room, preempted, isUrgent ? URGENT_LANES : PRIORITY_LANES);
    stopDeliveries(providers, preempted, "preempted");
    handToProvider(provider, channel, batch);
    if (hasQueued(channel, PRIORITY_LANES)) schedule(provider);
  };

  const claimBatch = (channel: ProviderQueue, limit: number, preempted: Delivery[], lanes: number): Delivery[] => {
    const batch: Delivery[] = [];
    while (batch.length < limit) {
      const delivery = nextDelivery(channel, lanes);
      if (!delivery) break;
      if (delivery.dispatchState === "queued" && !delivery.owner.closed && claimDevice(delivery, preempted))
        batch.push(delivery);
    }
    return batch;
  };

  /** True when the delivery holds the device now. */
  const claimDevice = (delivery: Delivery, preempted: Delivery[]): boolean => {
    if (delivery.device === null || !delivery.owner.requiresDevice(delivery)) return true;
    const { pk, device, priority, owner } = delivery;
    const canQueue = owner.canQueue && !delivery.reached;
    const { rank } = owner;
    // Conflicts between two bells are decided as soon as both request the device.
    const canPreempt = owner.canPreempt(delivery) || typeof busy.holder(device)?.rank === "number";
    const verdict = busy.claim({ deliveryId: pk, device, priority, rank, canQueue, canPreempt });
    if (verdict.kind === "preempts") preempt(verdict.deliveryId, preempted);
    if (verdict.kind === "preempts" && priority === EMERGENCY) endWaitingBells(device);
    if (verdict.kind === "waits") {
      delivery.dispatchState = "waiting-for-device";
      owner.markDispatched(delivery);
    }
    if (verdict.kind === "busy") endBusy(delivery, deps.find(busy.holder(device)?.deliveryId ?? 0));
    return verdict.kind === "free" || verdict.kind === "preempts";
  };

  const preempt = (deliveryPk: number, preempted: Delivery[]): void => {
    const victim = deps.find(deliveryPk);
    if (!victim) return;
    preempted.push(victim);
    victim.owner.end(victim, "skipped", PREEMPTED_REASON);
  };

  /** An emergency suppresses bells, also when its own audio ends before their time. */
  const endWaitingBells = (device: number): void => {
    for (const { deliveryId } of busy.queued(device)) {
      const bell = deps.find(deliveryId);
      if (bell && bell.owner.rank !== null) bell.owner.end(bell, "skipped", PREEMPTED_REASON);
    }
  };

  const handToProvider = (provider: string, channel: ProviderQueue, batch: readonly Delivery[]): void => {
    if (batch.length === 0) return;
    const items = deps.createItems(batch);
    const ready: DeliveryItem[] = [];
    for (const [at, delivery] of batch.entries()) {
      const item = items[at];
      if (!item) {
        delivery.owner.end(delivery, "skipped", sentence("delivery.device-deleted"));
        continue;
      }
      ready.push(item);
      delivery.owner.markDispatched(delivery);
      // A delivery that is only monitored may have no report until the message ends.
      delivery.dispatchState = delivery.reached ? "monitoring" : "in-flight";
      if (!delivery.reached) countInFlight(channel, delivery, 1);
    }
    if (ready.length > 0) providers.deliver(provider, ready);
  };

  const failQueued = (provider: string, channel: ProviderQueue, state: "disabled" | "absent"): void => {
    const reason = sentence(state === "disabled" ? "delivery.channel-disabled" : "delivery.channel-absent", {
      channel: provider,
    });
    for (let taken = 0; taken < MAX_BATCH_ITEMS; taken++) {
      const delivery = nextDelivery(channel, PRIORITY_LANES);
      if (!delivery) return;
      if (delivery.dispatchState !== "queued") continue;
      delivery.channelDown = reason;
      delivery.owner.end(delivery, "failed", reason);
    }
    schedule(provider);
  };

  const requeueNextHolder = (claim: DeviceClaim | null): void => {
    const heir = claim && deps.find(claim.deliveryId);
    if (heir?.dispatchState === "waiting-for-device") dispatcher.enqueue(heir);
  };

  const dispatcher: Dispatcher = {
    enqueue(delivery) {
      delivery.dispatchState = "queued";
      queueOf(delivery.provider).lanes[laneIndexOf(delivery)]?.push(delivery);
      schedule(delivery.provider);
    },
    releaseWindowSlot(delivery) {
      if (delivery.dispatchState !== "in-flight") return;
      delivery.dispatchState = "monitoring";
      countInFlight(queueOf(delivery.provider), delivery, -1);
      schedule(delivery.provider);
    },
    releaseDevice(delivery) {
      if (delivery.device !== null) requeueNextHolder(busy.release(delivery.device, delivery.pk));
    },
    finish(delivery) {
      dispatcher.releaseWindowSlot(delivery);
      delivery.dispatchState = "ended";
      dispatcher.releaseDevice(delivery);
    },
    wake: schedule,
  };
  return dispatcher;
}

/**
 * Two bells that ring at the same time are heard as one, and what is more urgent goes first on purpose; else this
 * message is not heard there.
 */
function endBusy(delivery: Delivery, holder: Delivery | undefined): void {
  const { owner } = delivery;
  if (holder && owner.soundsAt !== null && holder.owner.soundsAt === owner.soundsAt)
    owner.end(delivery, "skipped", sentence("delivery.rings-elsewhere", { notification: holder.owner.id }));
  else
    owner.end(
      delivery,
      holder && holder.priority < delivery.priority ? "skipped" : "failed",
      sentence("delivery.busy"),
    );
}

function createProviderQueue(): ProviderQueue {
  return {
    lanes: Array.from({ length: PRIORITY_LANES }, () => []),
    headIndexes: new Array<number>(PRIORITY_LANES).fill(0),
    inFlight: 0,
    emergenciesInFlight: 0,
    scheduled: false,
  };
}

/** Devices that failed before must not delay untried ones. */
function laneIndexOf(delivery: Delivery): number {
  const unlikely = !delivery.reached && (delivery.previouslyFailed || delivery.attempt > 0);
  return delivery.priority * 2 + Number(unlikely);
}

function countInFlight(channel: ProviderQueue, { priority }: Delivery, by: 1 | -1): void {
  if (priority === EMERGENCY) channel.emergenciesInFlight += by;
  else channel.inFlight += by;
}

/** The next delivery of the first `lanes`. */
function nextDelivery(channel: ProviderQueue, lanes: number): Delivery | undefined {
  for (let lane = 0; lane < lanes; lane++) {
    const waiting = channel.lanes[lane] as Delivery[];
    const head = channel.headIndexes[lane] as number;
    if (head < waiting.length) {
      channel.headIndexes[lane] = head + 1;
      return waiting[head];
    }
    if (head > 0) {
      channel.lanes[lane] = [];
      channel.headIndexes[lane] = 0;
    }
  }
  return undefined;
}

function hasQueued(channel: ProviderQueue, lanes: number): boolean {
  return channel.lanes.some((lane, at) => at < lanes && (channel.headIndexes[at] as number) < lane.length);
}
