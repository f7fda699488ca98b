import type { Clock } from "../lib/clock.ts";
import { type Sentence, sentence } from "../lib/sentences/sentences.ts";
import type { DeliveryOutcome } from "../notifications/engine/delivery-providers.ts";
import type { DeliveryItem, StopRequest } from "../plugin-api/index.ts";
import type { OutcomeReport, ToPlugin } from "./plugin-protocol.ts";

/** Deliveries of one plugin, queued or in progress; they survive a restart of the plugin. */
export interface DeliveryQueue {
  add(items: readonly DeliveryItem[]): void;
  /**
   * Cancels deliveries. While the plugin is down, cancellations of deliveries that reached a device wait for its next
   * run.
   */
  cancel(request: StopRequest): void;
  /** Applies outcome reports and returns them as delivery outcomes in the same order. */
  report(notes: readonly OutcomeReport[]): DeliveryOutcome[];
  /** The plugin is running: hands over outstanding deliveries, first those that only need following up. */
  resume(): void;
  /** The plugin stopped or crashed. */
  pause(): void;
  /** Fails all deliveries with `reason`. */
  failAll(reason: Sentence): void;
  /** Number of queued and unfinished deliveries. */
  readonly size: number;
}

export interface DeliveryQueueDeps {
  plugin: string;
  clock: Clock;
  /** Maximum number of deliveries without an outcome, separately for emergencies and for others. */
  maxUnacknowledged: number;
  /** The plugin places calls: deliveries continue after acceptance. */
  calls: boolean;
  send(message: ToPlugin): void;
  /** Receives outcomes that the queue itself produces. */
  onOutcomes(outcomes: readonly DeliveryOutcome[]): void;
}

type Reached = NonNullable<DeliveryItem["reached"]>;

interface QueuedDelivery {
  item: DeliveryItem;
  /** Highest reported level; null without an outcome. */
  reached: Reached | null;
  /** Handed to the current run. */
  handed: boolean;
  /** Number of runs that received this delivery. */
  runs: number;
}

const BATCH_SIZE = 200;
/** How long an item is kept past `notAfter` for a plugin that comes back; longer than any audio program. */
const RETENTION_MS = 3_600_000;
const SWEEP_INTERVAL_MS = 60_000;
/** A delivery that crashes the plugin repeatedly must not disable it for all others. */
const MAX_RUNS = 3;
const FINAL_LEVELS = new Set(["failed", "skipped", "expired", "confirmed"]);
const RANK: readonly Reached[] = ["sent", "accepted", "playing"];

/** Emergencies have their own queue and window. @source docs/decisions/0022-priorities.md */
type PriorityClass = "urgent" | "other";
const PRIORITY_CLASSES: readonly PriorityClass[] = ["urgent", "other"];

/** Creates the queue of one plugin, paused. */
export function createDeliveryQueue({
  plugin,
  clock,
  maxUnacknowledged,
  calls,
  send,
  onOutcomes,
}: DeliveryQueueDeps): DeliveryQueue {
  const held = new Map<number, QueuedDelivery>();
  /** Waiting deliveries, oldest first; emergencies never wait for others. */
  const queues: Record<PriorityClass, QueuedDelivery[]> = { urgent: [], other: [] };
  let pendingCancellations: StopRequest[] = [];
  let running = false;
  /** Deliveries handed over without an outcome. */
  const inFlight: Record<PriorityClass, number> = { urgent: 0, other: 0 };
  let lastSweepAt = clock.now();

  const drop = (entry: QueuedDelivery): void => {
    held.delete(entry.item.deliveryId);
    if (entry.handed && entry.reached === null) inFlight[priorityClassOf(entry)]--;
  };

  const reportOutcome = (entries: readonly QueuedDelivery[], level: "failed" | "expired", reason: Sentence): void => {
    for (const entry of entries) drop(entry);
    if (entries.length === 0) return;
    const at = clock.now();
    onOutcomes(
      entries.map(({ item }) => ({
        provider: plugin,
        deliveryId: item.deliveryId,
        level,
        details: { reason, inconclusive: true, channelDown: true },
        at,
      })),
    );
  };

  /** Next batch within the window, without cancelled deliveries. */
  function nextBatch(priorityClass: PriorityClass): QueuedDelivery[] {
    const batch: QueuedDelivery[] = [];
    const waiting = queues[priorityClass];
    for (let entry = waiting[0]; entry && batch.length < BATCH_SIZE; entry = waiting[0]) {
      const live = held.get(entry.item.deliveryId) === entry;
      if (live && entry.reached === null && inFlight[priorityClass] >= maxUnacknowledged) break;
      waiting.shift();
      if (!live) continue;
      entry.handed = true;
      entry.runs++;
      if (entry.reached === null) inFlight[priorityClass]++;
      batch.push(entry);
    }
    return batch;
  }

  function sendBatches(): void {
    if (!running) return;
    for (const priorityClass of PRIORITY_CLASSES) {
      for (let batch = nextBatch(priorityClass); batch.length > 0; batch = nextBatch(priorityClass))
        send({ kind: "deliver", items: batch.map(toItem) });
    }
  }

  /** Replaces the queues with these entries. */
  function requeue(entries: readonly QueuedDelivery[]): void {
    for (const name of PRIORITY_CLASSES) queues[name] = entries.filter((entry) => priorityClassOf(entry) === name);
  }

  function applyReport({ deliveryId, level, details }: OutcomeReport): void {
    const entry = held.get(deliveryId);
    if (!entry) return;
    // Accepted text needs no follow-up.
    const isTaken = entry.item.audio === null && level !== "sent" && !calls;
    if (FINAL_LEVELS.has(level) || details.last || isTaken) {
      drop(entry);
      return;
    }
    if (entry.handed && entry.reached === null) inFlight[priorityClassOf(entry)]--;
    const proven = level === "heard" ? "playing" : (level as Reached);
    if (entry.reached === null || RANK.indexOf(proven) > RANK.indexOf(entry.reached)) entry.reached = proven;
  }

  function sweep(): void {
    const now = clock.now();
    if (now - lastSweepAt < SWEEP_INTERVAL_MS) return;
    lastSweepAt = now;
    for (const entry of held.values()) if (entry.item.notAfter + RETENTION_MS < now) drop(entry);
  }

  return {
    add(items) {
      sweep();
      for (const item of items) {
        const earlier = held.get(item.deliveryId);
        if (earlier) drop(earlier);
        const entry = { item, reached: item.reached ?? null, handed: false, runs: 0 };
        held.set(item.deliveryId, entry);
        queues[priorityClassOf(entry)].push(entry);
      }
      sendBatches();
    },
    cancel(request) {
      if (running) {
        send({ kind: "stop", request });
        dropCancelled(request);
        sendBatches();
        return;
      }
      const ids = request.deliveryIds.filter((id) => {
        const entry = held.get(id);
        if (!entry) return false;
        // It may have reached the device, which must be silenced and must not receive it again.
        if (entry.runs > 0) entry.reached ??= "sent";
        if (entry.reached === null) drop(entry);
        return entry.reached !== null;
      });
      if (ids.length > 0) pendingCancellations.push({ ...request, deliveryIds: ids });
    },
    report(notes) {
      for (const entry of notes) applyReport(entry);
      sendBatches();
      return notes.map((entry) => ({ provider: plugin, ...entry, ...(entry.details.last ? { isLast: true } : {}) }));
    },
    resume() {
      running = true;
      const now = clock.now();
      const all = [...held.values()];
      reportOutcome(
        all.filter(({ item, reached }) => reached === null && item.notAfter <= now),
        "expired",
        sentence("delivery.plugin-late", { plugin }),
      );
      const live = [...held.values()];
      requeue([...live.filter(({ reached }) => reached !== null), ...live.filter(({ reached }) => reached === null)]);
      sendBatches();
      for (const request of pendingCancellations.splice(0)) {
        send({ kind: "stop", request });
        dropCancelled(request);
      }
      sendBatches();
    },
    pause() {
      running = false;
      for (const name of PRIORITY_CLASSES) inFlight[name] = 0;
      requeue([]);
      const fatal: QueuedDelivery[] = [];
      for (const entry of held.values()) {
        if (entry.handed && entry.reached === null) {
          entry.item = { ...entry.item, attempt: entry.item.attempt + 1 };
          if (entry.runs >= MAX_RUNS) fatal.push(entry);
        }
        entry.handed = false;
      }
      reportOutcome(fatal, "failed", sentence("delivery.plugin-crashed", { plugin, times: MAX_RUNS }));
    },
    failAll(reason) {
      const all = [...held.values()];
      pendingCancellations = [];
      requeue([]);
      // A delivery that reached a device keeps its proven level; the notification itself ends it.
      const lost = all.filter(({ reached }) => reached === null);
      for (const entry of all) drop(entry);
      reportOutcome(lost, "failed", reason);
    },
    get size() {
      return held.size;
    },
  };

  function dropCancelled(request: StopRequest): void {
    for (const id of request.deliveryIds) {
      const entry = held.get(id);
      if (entry) drop(entry);
    }
  }
}

function priorityClassOf({ item }: QueuedDelivery): PriorityClass {
  return item.class === "emergency" ? "urgent" : "other";
}

function toItem({ item, reached }: QueuedDelivery): DeliveryItem {
  return reached === null ? item : { ...item, reached };
}
