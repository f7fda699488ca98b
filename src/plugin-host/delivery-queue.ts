import type { Clock } from "../lib/clock.ts";
import type { DeliveryOutcome } from "../notifications/engine/delivery-providers.ts";
import type { DeliveryItem, StopRequest } from "../plugin-api/index.ts";
import type { OutcomeReport, ToPlugin } from "./plugin-protocol.ts";

/** The deliveries that a plugin has in hand or will get, kept so that they outlive a run of it. */
export interface DeliveryQueue {
  add(items: readonly DeliveryItem[]): void;
  /** Calls deliveries off; while the plugin does not run, those that reached a device wait for it. */
  cancel(request: StopRequest): void;
  /** Takes note of reports and gives them back as outcomes, in the same order. */
  report(notes: readonly OutcomeReport[]): DeliveryOutcome[];
  /** The plugin runs now: it gets what is outstanding, first what it must only follow up. */
  resume(): void;
  /** The plugin's run has ended. */
  pause(): void;
  /** Ends everything as failed, `reason` in words; answers the notifications concerned. */
  failAll(reason: string): string[];
  /** Items that wait or have no outcome yet. */
  readonly size: number;
}

/** What handing over needs. */
export interface DeliveryQueueDeps {
  plugin: string;
  clock: Clock;
  /** Items without outcome at once; as many of emergencies beside them. */
  maxUnacknowledged: number;
  /** What it was given goes on after the device has taken it. */
  calls: boolean;
  send(message: ToPlugin): void;
  /** For what the host itself has to report. */
  onOutcomes(outcomes: readonly DeliveryOutcome[]): void;
}

type Reached = NonNullable<DeliveryItem["reached"]>;

interface QueuedDelivery {
  item: DeliveryItem;
  /** Highest level reported; null without any outcome. */
  reached: Reached | null;
  /** The running plugin has it. */
  handed: boolean;
  /** Runs of the plugin that were given it. */
  runs: number;
}

const BATCH_SIZE = 200;
/** How long after its use an item is kept for a plugin that comes back. own choice: longer than any programme. */
const RETENTION_MS = 3_600_000;
const SWEEP_INTERVAL_MS = 60_000;
/** A delivery that no run of the plugin survives must not switch it off for all others. own choice */
const MAX_RUNS = 3;
const FINAL_LEVELS = new Set(["failed", "skipped", "expired", "confirmed"]);
const RANK: readonly Reached[] = ["sent", "accepted", "playing"];

/** What waits for what: emergencies go first. @source interfaces.md, Priorities */
type PriorityClass = "urgent" | "other";
const PRIORITY_CLASSES: readonly PriorityClass[] = ["urgent", "other"];

/** Makes the hand-over of one plugin; it begins paused. */
export function createDeliveryQueue({
  plugin,
  clock,
  maxUnacknowledged,
  calls,
  send,
  onOutcomes,
}: DeliveryQueueDeps): DeliveryQueue {
  const held = new Map<number, QueuedDelivery>();
  /** Not handed over yet, oldest first; those of emergencies apart, which wait for no others. */
  const queues: Record<PriorityClass, QueuedDelivery[]> = { urgent: [], other: [] };
  let pendingCancellations: StopRequest[] = [];
  let running = false;
  /** Handed over and without outcome. */
  const open: Record<PriorityClass, number> = { urgent: 0, other: 0 };
  let swept = clock.now();

  const drop = (entry: QueuedDelivery): void => {
    held.delete(entry.item.deliveryId);
    if (entry.handed && entry.reached === null) open[priorityClassOf(entry)]--;
  };

  const reportOutcome = (entries: readonly QueuedDelivery[], level: "failed" | "expired", reason: string): void => {
    for (const entry of entries) drop(entry);
    if (entries.length === 0) return;
    const at = clock.now();
    onOutcomes(
      entries.map(({ item }) => ({ provider: plugin, deliveryId: item.deliveryId, level, details: { reason }, at })),
    );
  };

  /** The next batch that may go: nothing that was called off meanwhile, and no more new items than the window has room. */
  function nextBatch(line: PriorityClass): QueuedDelivery[] {
    const batch: QueuedDelivery[] = [];
    const waiting = queues[line];
    for (let entry = waiting[0]; entry && batch.length < BATCH_SIZE; entry = waiting[0]) {
      const live = held.get(entry.item.deliveryId) === entry;
      if (live && entry.reached === null && open[line] >= maxUnacknowledged) break;
      waiting.shift();
      if (!live) continue;
      entry.handed = true;
      entry.runs++;
      if (entry.reached === null) open[line]++;
      batch.push(entry);
    }
    return batch;
  }

  function sendBatches(): void {
    if (!running) return;
    for (const line of PRIORITY_CLASSES) {
      for (let batch = nextBatch(line); batch.length > 0; batch = nextBatch(line))
        send({ kind: "deliver", items: batch.map(toItem) });
    }
  }

  /** Has these wait and nothing else. */
  function requeue(entries: readonly QueuedDelivery[]): void {
    for (const name of PRIORITY_CLASSES) queues[name] = entries.filter((entry) => priorityClassOf(entry) === name);
  }

  function applyReport({ deliveryId, level, details }: OutcomeReport): void {
    const entry = held.get(deliveryId);
    if (!entry) return;
    // A text that was taken needs no following up.
    const isTaken = entry.item.audio === null && level !== "sent" && !calls;
    if (FINAL_LEVELS.has(level) || details.last || isTaken) {
      drop(entry);
      return;
    }
    if (entry.handed && entry.reached === null) open[priorityClassOf(entry)]--;
    const proven = level === "heard" ? "playing" : (level as Reached);
    if (entry.reached === null || RANK.indexOf(proven) > RANK.indexOf(entry.reached)) entry.reached = proven;
  }

  function sweep(): void {
    const now = clock.now();
    if (now - swept < SWEEP_INTERVAL_MS) return;
    swept = now;
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
        // It may have reached the device, which must then be silenced but not asked again.
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
        `${plugin} did not run in time`,
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
      for (const name of PRIORITY_CLASSES) open[name] = 0;
      requeue([]);
      const fatal: QueuedDelivery[] = [];
      for (const entry of held.values()) {
        if (entry.handed && entry.reached === null) {
          entry.item = { ...entry.item, attempt: entry.item.attempt + 1 };
          if (entry.runs >= MAX_RUNS) fatal.push(entry);
        }
        entry.handed = false;
      }
      reportOutcome(fatal, "failed", `${plugin} ended ${MAX_RUNS} times while it had this in hand`);
    },
    failAll(reason) {
      const all = [...held.values()];
      pendingCancellations = [];
      requeue([]);
      // What has reached a device keeps what is proven: the broadcast itself ends it.
      const lost = all.filter(({ reached }) => reached === null);
      for (const entry of all) drop(entry);
      reportOutcome(lost, "failed", reason);
      return [...new Set(lost.map(({ item }) => item.notificationId))];
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
