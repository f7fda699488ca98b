import type { Clock } from "../base/clock.ts";
import type { BusyTable, Claim } from "../devices/busy.ts";
import type { DeliveryItem } from "../plugin-api/index.ts";
import { callOff } from "./call-off.ts";
import type { Delivery, DeliveryOwner } from "./delivery.ts";
import type { Providers } from "./providers.ts";

/** Hands deliveries to the channels that carry them: a window per channel, urgent ones first, dead devices last. */
export interface Dispatcher {
  /** Puts a delivery into its channel's queue. */
  queue(delivery: Delivery): void;
  /** The channel has said something of a delivery that was out: its place in the window is free. */
  answered(delivery: Delivery): void;
  /** The delivery needs its device no more, though its channel has more to say of it. */
  freed(delivery: Delivery): void;
  /** The delivery has ended: gives back its place and its device. */
  released(delivery: Delivery): void;
  /** Looks again at a channel whose state has changed. */
  wake(provider: string): void;
}

/** What a dispatcher needs. */
export interface DispatcherNeeds {
  clock: Clock;
  providers: Providers;
  busy: BusyTable;
  find(deliveryPk: number): Delivery | undefined;
  /** What the channel gets for each, in order; null for a device that is gone. */
  items(batch: readonly Delivery[]): (DeliveryItem | null)[];
}

/** @source interfaces.md, The plugin's door: batches of at most 200 */
const MOST_ITEMS = 200;
/** Priorities 0..9, each with a lane for those that are likely to answer and one for the others. */
const LANES = 20;

const EMERGENCY = 0;
/** Those of emergencies come first. */
const URGENT_LANES = 2;
const TAKEN = "A more urgent message took the device.";

interface Channel {
  /** First in, first out; `heads` counts those taken. */
  lanes: Delivery[][];
  heads: number[];
  /** Items with the channel and without a word of them; those of emergencies apart, which wait for no others. */
  out: number;
  outUrgent: number;
  scheduled: boolean;
}

/** Makes a dispatcher with empty queues. */
export function createDispatcher(needs: DispatcherNeeds): Dispatcher {
  const { clock, providers, busy } = needs;
  const channels = new Map<string, Channel>();

  const channelOf = (provider: string): Channel => {
    const found = channels.get(provider) ?? createChannel();
    channels.set(provider, found);
    return found;
  };

  const schedule = (provider: string): void => {
    const channel = channelOf(provider);
    if (channel.scheduled) return;
    channel.scheduled = true;
    clock.soon(() => {
      channel.scheduled = false;
      pump(provider, channel);
    });
  };

  const pump = (provider: string, channel: Channel): void => {
    const state = providers.state(provider);
    if (state === "restarting") return;
    if (state !== "running") {
      refuse(provider, channel, state);
      return;
    }
    const isUrgent = waits(channel, URGENT_LANES);
    const room = Math.min(MOST_ITEMS, providers.window(provider) - (isUrgent ? channel.outUrgent : channel.out));
    if (room <= 0) return;
    const preempted: Delivery[] = [];
    const batch = takeClaimed(channel, room, preempted, isUrgent ? URGENT_LANES : LANES);
    callOff(providers, preempted, "preempted");
    hand(provider, channel, batch);
    if (waits(channel, LANES)) schedule(provider);
  };

  const takeClaimed = (channel: Channel, most: number, preempted: Delivery[], lanes: number): Delivery[] => {
    const batch: Delivery[] = [];
    while (batch.length < most) {
      const delivery = next(channel, lanes);
      if (!delivery) break;
      if (delivery.place === "queued" && !delivery.owner.closed && claims(delivery, preempted)) batch.push(delivery);
    }
    return batch;
  };

  /** True when the device is the delivery's own now. */
  const claims = (delivery: Delivery, preempted: Delivery[]): boolean => {
    if (delivery.device === null || !delivery.owner.takesDevice(delivery)) return true;
    const { pk, device, priority, owner } = delivery;
    const mayWait = owner.mayWait && !delivery.reached;
    const { rank } = owner;
    // Of two bells it is decided as soon as both ask.
    const mayPreempt = owner.mayPreempt(delivery) || typeof busy.holder(device)?.rank === "number";
    const verdict = busy.claim({ deliveryId: pk, device, priority, rank, mayWait, mayPreempt });
    if (verdict.kind === "preempts") preempt(verdict.deliveryId, preempted);
    if (verdict.kind === "preempts" && priority === EMERGENCY) endWaitingBells(device);
    if (verdict.kind === "waits") {
      delivery.place = "held";
      owner.asked(delivery);
    }
    if (verdict.kind === "busy")
      owner.end(delivery, "skipped", wordsFor(needs.find(busy.holder(device)?.deliveryId ?? 0), owner));
    return verdict.kind === "free" || verdict.kind === "preempts";
  };

  const preempt = (deliveryPk: number, preempted: Delivery[]): void => {
    const victim = needs.find(deliveryPk);
    if (!victim) return;
    preempted.push(victim);
    victim.owner.end(victim, "skipped", TAKEN);
  };

  /** An emergency silences bells, also when its own sound is over before their moment. */
  const endWaitingBells = (device: number): void => {
    for (const { deliveryId } of busy.waiting(device)) {
      const bell = needs.find(deliveryId);
      if (bell && bell.owner.rank !== null) bell.owner.end(bell, "skipped", TAKEN);
    }
  };

  const hand = (provider: string, channel: Channel, batch: readonly Delivery[]): void => {
    if (batch.length === 0) return;
    const items = needs.items(batch);
    const ready: DeliveryItem[] = [];
    for (const [at, delivery] of batch.entries()) {
      const item = items[at];
      if (!item) {
        delivery.owner.end(delivery, "skipped", "The device was deleted.");
        continue;
      }
      ready.push(item);
      delivery.owner.asked(delivery);
      // What is only followed up may stay without a word until the message ends.
      delivery.place = delivery.reached ? "followed" : "out";
      if (!delivery.reached) countOut(channel, delivery, 1);
    }
    if (ready.length > 0) providers.deliver(provider, ready);
  };

  const refuse = (provider: string, channel: Channel, state: "disabled" | "absent"): void => {
    const words =
      state === "disabled"
        ? `The channel ${provider} is switched off.`
        : `There is no channel ${provider} to carry it.`;
    for (let taken = 0; taken < MOST_ITEMS; taken++) {
      const delivery = next(channel, LANES);
      if (!delivery) return;
      if (delivery.place === "queued") delivery.owner.end(delivery, "failed", words);
    }
    schedule(provider);
  };

  const pass = (claim: Claim | null): void => {
    const heir = claim && needs.find(claim.deliveryId);
    if (heir?.place === "held") dispatcher.queue(heir);
  };

  const dispatcher: Dispatcher = {
    queue(delivery) {
      delivery.place = "queued";
      channelOf(delivery.provider).lanes[laneOf(delivery)]?.push(delivery);
      schedule(delivery.provider);
    },
    answered(delivery) {
      if (delivery.place !== "out") return;
      delivery.place = "followed";
      countOut(channelOf(delivery.provider), delivery, -1);
      schedule(delivery.provider);
    },
    freed(delivery) {
      if (delivery.device !== null) pass(busy.release(delivery.device, delivery.pk));
    },
    released(delivery) {
      dispatcher.answered(delivery);
      delivery.place = "over";
      dispatcher.freed(delivery);
    },
    wake: schedule,
  };
  return dispatcher;
}

/** Two bells that ring at one moment are heard as one. */
function wordsFor(holder: Delivery | undefined, { soundsAt }: DeliveryOwner): string {
  const isTwin = holder && soundsAt !== null && holder.owner.soundsAt === soundsAt;
  return isTwin ? `It rings for ${holder.owner.id} at the same moment.` : "The device is busy with another message.";
}

function createChannel(): Channel {
  return {
    lanes: Array.from({ length: LANES }, () => []),
    heads: new Array<number>(LANES).fill(0),
    out: 0,
    outUrgent: 0,
    scheduled: false,
  };
}

/** What has failed before must not delay what has not been tried. */
function laneOf(delivery: Delivery): number {
  const unlikely = !delivery.reached && (delivery.knownBad || delivery.attempt > 0);
  return delivery.priority * 2 + Number(unlikely);
}

function countOut(channel: Channel, { priority }: Delivery, by: 1 | -1): void {
  if (priority === EMERGENCY) channel.outUrgent += by;
  else channel.out += by;
}

/** The next one of the first `lanes`. */
function next(channel: Channel, lanes: number): Delivery | undefined {
  for (let lane = 0; lane < lanes; lane++) {
    const waiting = channel.lanes[lane] as Delivery[];
    const head = channel.heads[lane] as number;
    if (head < waiting.length) {
      channel.heads[lane] = head + 1;
      return waiting[head];
    }
    if (head > 0) {
      channel.lanes[lane] = [];
      channel.heads[lane] = 0;
    }
  }
  return undefined;
}

function waits(channel: Channel, lanes: number): boolean {
  return channel.lanes.some((lane, at) => at < lanes && (channel.heads[at] as number) < lane.length);
}
