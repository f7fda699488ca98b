import type { DeviceClaim, DeviceClaims } from "../../devices/device-claims.ts";
import type { Clock } from "../../lib/clock.ts";
import type { DeliveryItem } from "../../plugin-api/index.ts";
import type { Delivery, DeliveryOwner } from "./delivery.ts";
import type { DeliveryProviders } from "./delivery-providers.ts";
import { stopDeliveries } from "./stop-deliveries.ts";

/** Hands deliveries to the channels that carry them: a window per channel, urgent ones first, dead devices last. */
export interface Dispatcher {
  /** Puts a delivery into its channel's queue. */
  enqueue(delivery: Delivery): void;
  /** The channel has said something of a delivery that was out: its place in the window is free. */
  releaseWindowSlot(delivery: Delivery): void;
  /** The delivery needs its device no more, though its channel has more to say of it. */
  releaseDevice(delivery: Delivery): void;
  /** The delivery has ended: gives back its place and its device. */
  finish(delivery: Delivery): void;
  /** Looks again at a channel whose state has changed. */
  wake(provider: string): void;
}

/** What a dispatcher needs. */
export interface DispatcherDeps {
  clock: Clock;
  providers: DeliveryProviders;
  busy: DeviceClaims;
  find(deliveryPk: number): Delivery | undefined;
  /** What the channel gets for each, in order; null for a device that is gone. */
  createItems(batch: readonly Delivery[]): (DeliveryItem | null)[];
}

/** @source interfaces.md, The plugin's door: batches of at most 200 */
const MAX_BATCH_ITEMS = 200;
/** Priorities 0..9, each with a lane for those that are likely to answer and one for the others. */
const PRIORITY_LANES = 20;

const EMERGENCY = 0;
/** Those of emergencies come first. */
const URGENT_LANES = 2;
const PREEMPTED_REASON = "A more urgent message took the device.";

interface ProviderQueue {
  /** First in, first out; `heads` counts those taken. */
  lanes: Delivery[][];
  headIndexes: number[];
  /** Items with the channel and without a word of them; those of emergencies apart, which wait for no others. */
  inFlight: number;
  emergenciesInFlight: number;
  scheduled: boolean;
}

/** Makes a dispatcher with empty queues. */
export function createDispatcher(needs: DispatcherDeps): Dispatcher {
  const { clock, providers, busy } = needs;
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

  const claimBatch = (channel: ProviderQueue, most: number, preempted: Delivery[], lanes: number): Delivery[] => {
    const batch: Delivery[] = [];
    while (batch.length < most) {
      const delivery = nextDelivery(channel, lanes);
      if (!delivery) break;
      if (delivery.dispatchState === "queued" && !delivery.owner.closed && claimDevice(delivery, preempted))
        batch.push(delivery);
    }
    return batch;
  };

  /** True when the device is the delivery's own now. */
  const claimDevice = (delivery: Delivery, preempted: Delivery[]): boolean => {
    if (delivery.device === null || !delivery.owner.requiresDevice(delivery)) return true;
    const { pk, device, priority, owner } = delivery;
    const canQueue = owner.canQueue && !delivery.reached;
    const { rank } = owner;
    // Of two bells it is decided as soon as both ask.
    const canPreempt = owner.canPreempt(delivery) || typeof busy.holder(device)?.rank === "number";
    const verdict = busy.claim({ deliveryId: pk, device, priority, rank, canQueue, canPreempt });
    if (verdict.kind === "preempts") preempt(verdict.deliveryId, preempted);
    if (verdict.kind === "preempts" && priority === EMERGENCY) endWaitingBells(device);
    if (verdict.kind === "waits") {
      delivery.dispatchState = "waiting-for-device";
      owner.markDispatched(delivery);
    }
    if (verdict.kind === "busy")
      owner.end(delivery, "skipped", busyReason(needs.find(busy.holder(device)?.deliveryId ?? 0), owner));
    return verdict.kind === "free" || verdict.kind === "preempts";
  };

  const preempt = (deliveryPk: number, preempted: Delivery[]): void => {
    const victim = needs.find(deliveryPk);
    if (!victim) return;
    preempted.push(victim);
    victim.owner.end(victim, "skipped", PREEMPTED_REASON);
  };

  /** An emergency silences bells, also when its own sound is over before their moment. */
  const endWaitingBells = (device: number): void => {
    for (const { deliveryId } of busy.queued(device)) {
      const bell = needs.find(deliveryId);
      if (bell && bell.owner.rank !== null) bell.owner.end(bell, "skipped", PREEMPTED_REASON);
    }
  };

  const handToProvider = (provider: string, channel: ProviderQueue, batch: readonly Delivery[]): void => {
    if (batch.length === 0) return;
    const items = needs.createItems(batch);
    const ready: DeliveryItem[] = [];
    for (const [at, delivery] of batch.entries()) {
      const item = items[at];
      if (!item) {
        delivery.owner.end(delivery, "skipped", "The device was deleted.");
        continue;
      }
      ready.push(item);
      delivery.owner.markDispatched(delivery);
      // What is only followed up may stay without a word until the message ends.
      delivery.dispatchState = delivery.reached ? "monitoring" : "in-flight";
      if (!delivery.reached) countInFlight(channel, delivery, 1);
    }
    if (ready.length > 0) providers.deliver(provider, ready);
  };

  const failQueued = (provider: string, channel: ProviderQueue, state: "disabled" | "absent"): void => {
    const words =
      state === "disabled"
        ? `The channel ${provider} is switched off.`
        : `There is no channel ${provider} to carry it.`;
    for (let taken = 0; taken < MAX_BATCH_ITEMS; taken++) {
      const delivery = nextDelivery(channel, PRIORITY_LANES);
      if (!delivery) return;
      if (delivery.dispatchState === "queued") delivery.owner.end(delivery, "failed", words);
    }
    schedule(provider);
  };

  const requeueNextHolder = (claim: DeviceClaim | null): void => {
    const heir = claim && needs.find(claim.deliveryId);
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

/** Two bells that ring at one moment are heard as one. */
function busyReason(holder: Delivery | undefined, { soundsAt }: DeliveryOwner): string {
  const isTwin = holder && soundsAt !== null && holder.owner.soundsAt === soundsAt;
  return isTwin ? `It rings for ${holder.owner.id} at the same moment.` : "The device is busy with another message.";
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

/** What has failed before must not delay what has not been tried. */
function laneIndexOf(delivery: Delivery): number {
  const unlikely = !delivery.reached && (delivery.previouslyFailed || delivery.attempt > 0);
  return delivery.priority * 2 + Number(unlikely);
}

function countInFlight(channel: ProviderQueue, { priority }: Delivery, by: 1 | -1): void {
  if (priority === EMERGENCY) channel.emergenciesInFlight += by;
  else channel.inFlight += by;
}

/** The next one of the first `lanes`. */
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
