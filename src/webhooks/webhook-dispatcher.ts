import { isAccountLocked } from "../auth/account-lock.ts";
import type { AccessControl } from "../auth/principal.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Events } from "../lib/events.ts";
import { createConnectionPool } from "../lib/guarded-fetch.ts";
import type { Log } from "../lib/log.ts";
import { createSemaphore } from "../lib/semaphore.ts";
import type { SsrfGuard } from "../lib/ssrf-guard.ts";
import users from "../resources/people/users.ts";
import triggers from "../resources/webhooks/triggers.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { RowOf } from "../schema/resource.ts";
import type { AccessScope, ActorContext, Store } from "../store/store.ts";
import { noteResult, type ReceiverState } from "./receiver-state.ts";
import { deliverWebhook, type WebhookDeliveryDeps } from "./webhook-delivery.ts";
import { matchesSpec, resourcesMatching, rowPaths, wasVisible } from "./webhook-events.ts";
import {
  type AuditedWrite,
  affectedRow,
  auditedWritesBetween,
  newestAuditNumber,
  webhookEventType,
} from "./webhook-message.ts";

/** Dependencies of the dispatcher. */
export interface WebhookDispatcherDeps {
  store: Store;
  access: AccessControl;
  catalogue: Catalogue;
  clock: Clock;
  events: Events;
  log: Log;
  ssrfGuard: SsrfGuard;
  /** Actor that disables failing triggers. */
  by: ActorContext;
}

/** Delivers the webhooks of all triggers. */
export interface WebhookDispatcher {
  /** Processes pending deliveries and new audit entries. */
  start(): void;
  /** Aborts running calls; they are repeated after the next start. */
  stop(): Promise<void>;
}

type Trigger = RowOf<typeof triggers>;

/** Audit entries per chunk, and pending messages per trigger; further entries wait in the audit log. */
const CHUNK_ENTRIES = 200;
const MAX_PENDING = 1_000;
/**
 * The position is only stored this often if no entry is relevant; the entries in between are read again after a
 * restart.
 */
const CHECKPOINT_INTERVAL = 1_000;

/** Concurrent calls over all triggers, and of one trigger. Slow receivers delay others only if there are many of them. */
const MAX_CONCURRENT_CALLS = 64;
const MAX_CALLS_PER_TRIGGER = 8;

/** In-memory state of one trigger; can be rebuilt after a restart. */
interface TriggerQueue extends ReceiverState {
  /** Position in the audit log, if further than the stored one. */
  position: number;
  running: Promise<void> | null;
  rerun: boolean;
  timer: Timer | null;
  /** Calls in progress, by id of the delivery. */
  calls: Map<string, { resourceId: string; done: Promise<void> }>;
  /** Resumes the queue while it waits for its calls. */
  resume: () => void;
  /** Error of the store during a call. */
  error: unknown;
}

/**
 * Creates the webhook dispatcher; idle until `start`. The messages about one object are delivered one by one, in order;
 * those of different objects do not wait for each other. @source docs/decisions/0505-order-of-webhooks.md
 */
export function createWebhookDispatcher(deps: WebhookDispatcherDeps): WebhookDispatcher {
  const { store, clock, events, log } = deps;
  const queues = new Map<string, TriggerQueue>();
  const abortController = new AbortController();
  const connections = createConnectionPool(MAX_CALLS_PER_TRIGGER);
  const withConcurrencyLimit = createSemaphore(MAX_CONCURRENT_CALLS);
  const deliveryDeps: WebhookDeliveryDeps = { ...deps, signal: abortController.signal, connections };
  let woken = false;

  function wakeAll(): void {
    if (woken || abortController.signal.aborted) return;
    woken = true;
    clock.defer(() => {
      woken = false;
      if (abortController.signal.aborted) return;
      for (const { id } of store.all<{ id: string }>("SELECT id FROM triggers")) wake(id);
    });
  }

  function wake(id: string): void {
    const queue = queues.get(id) ?? newQueue();
    queues.set(id, queue);
    queue.timer?.cancel();
    queue.timer = null;
    queue.rerun = true;
    queue.resume();
    queue.running ??= runQueue(id, queue).finally(() => {
      queue.running = null;
    });
  }

  async function runQueue(id: string, queue: TriggerQueue): Promise<void> {
    try {
      while (queue.rerun && !abortController.signal.aborted) await processQueue(id, queue);
    } catch (error) {
      // The database is the source of truth: the next write or start resumes processing.
      if (!abortController.signal.aborted)
        log.error({ event: "trigger.processing_failed", err: error, triggerId: id }, "failed to process trigger");
    }
    await Promise.all([...queue.calls.values()].map(({ done }) => done));
  }

  /** Makes the calls that are due, until there are none. */
  async function processQueue(id: string, queue: TriggerQueue): Promise<void> {
    while (!abortController.signal.aborted) {
      queue.rerun = false;
      const trigger = store.get(triggers, id);
      if (!trigger) return void queues.delete(id);
      const scope = trigger.disabled ? null : scopeOf(trigger, deps);
      if (!scope) return;
      const hasMore = await collect(trigger, scope, queue, deps);
      const { due, nextAt } = dueCalls(pendingCalls(trigger, store), queue, clock.now());
      for (const call of due) startCall(trigger, call, queue);
      if (hasMore || queue.rerun) continue;
      if (nextAt !== null) {
        queue.timer?.cancel();
        queue.timer = clock.after(nextAt - clock.now(), () => wake(id), { background: true });
      }
      if (queue.calls.size === 0) return;
      await new Promise<void>((resolve) => {
        queue.resume = resolve;
      });
      if (queue.error !== null) throw takeError(queue);
    }
  }

  function startCall(trigger: Trigger, { id, resourceId }: PendingCall, queue: TriggerQueue): void {
    const call = async (): Promise<void> => {
      try {
        const result = await withConcurrencyLimit(() => deliverWebhook(trigger, id, deliveryDeps));
        if (result && noteResult(queue, result, clock.now()) === "recovered") await retryNow(trigger, store);
      } catch (error) {
        queue.error = error;
      } finally {
        queue.calls.delete(id);
        queue.resume();
      }
    };
    queue.calls.set(id, { resourceId, done: call() });
  }

  let stopListening: (() => void)[] = [];
  return {
    start() {
      stopListening = [events.on("row.changed", wakeAll), events.on("trigger.replayed", wakeAll)];
      wakeAll();
    },
    async stop() {
      for (const off of stopListening) off();
      abortController.abort();
      const running = [...queues.values()].map((queue) => {
        queue.timer?.cancel();
        return queue.running;
      });
      await Promise.all(running);
      connections.close();
    },
  };
}

/**
 * Access scope of the owner; null while the owner is locked or may not act in the domain of the trigger. The position
 * does not advance then, so nothing is skipped.
 */
function scopeOf(trigger: Trigger, { store, access, clock, by }: WebhookDispatcherDeps): AccessScope | null {
  if (trigger.ownerId === null) return by.scope;
  const owner = store.get(users, trigger.ownerId);
  if (!owner || isAccountLocked(owner.lock, clock.now())) return null;
  const { id: userId, pk: userPk, name, email } = owner;
  try {
    return access.resolveScope(
      { userId, userPk, name, email, tokenId: "", scopes: null, accessToken: null },
      trigger.actingDomainId,
    );
  } catch {
    return null;
  }
}

/** Reads the next audit entries and stores a message for each relevant one; false if there were none. */
async function collect(
  trigger: Trigger,
  scope: AccessScope,
  queue: TriggerQueue,
  deps: WebhookDispatcherDeps,
): Promise<boolean> {
  const { store, catalogue } = deps;
  const position = Math.max(queue.position, trigger.position ?? 0);
  const upTo = Math.min(newestAuditNumber(store), position + CHUNK_ENTRIES);
  if (upTo <= position || pendingCount(trigger, store) >= MAX_PENDING) return false;
  const resources = resourcesMatching(trigger.spec, catalogue);
  const relevant = auditedWritesBetween({ position, upTo, resources }, store, catalogue).filter((entry) =>
    isRelevant(entry, trigger, scope, deps),
  );
  if (relevant.length > 0 || upTo - (trigger.position ?? 0) >= CHECKPOINT_INTERVAL)
    await storeMessages(trigger, relevant, upTo, deps);
  queue.position = upTo;
  return true;
}

function isRelevant(
  entry: AuditedWrite,
  { spec, scenarioId }: Trigger,
  scope: AccessScope,
  deps: WebhookDispatcherDeps,
): boolean {
  const row = affectedRow(entry);
  if (scenarioId !== null && (row.scenarioId !== scenarioId || entry.op !== "create")) return false;
  const { store: reader, catalogue } = deps;
  return (
    matchesSpec(spec, rowPaths(entry.resource, row)) && wasVisible(entry.resource, row, scope, { reader, catalogue })
  );
}

async function storeMessages(
  { id, pk }: Trigger,
  relevant: readonly AuditedWrite[],
  upTo: number,
  { store, clock }: WebhookDispatcherDeps,
): Promise<void> {
  await store.write((tx) => {
    // Deleted in the meantime.
    if (!tx.get(triggers, id)) return;
    const now = clock.now();
    for (const entry of relevant) {
      tx.run(
        `INSERT INTO trigger_deliveries (id, created_at, updated_at, trigger_pk, event, resource_id, state, attempts, entry)
         VALUES (uuid7(), ?, ?, ?, ?, ?, 'pending', 0, ?)`,
        ...[now, now, pk, webhookEventType(entry.resource.name, entry.op), affectedRow(entry).id, entry.pk],
      );
    }
    tx.run("UPDATE triggers SET position = ? WHERE pk = ?", upTo, pk);
  });
}

function pendingCount({ pk }: Trigger, store: Store): number {
  const sql = "SELECT count(*) AS n FROM trigger_deliveries WHERE trigger_pk = ? AND state = 'pending'";
  return store.one<{ n: number }>(sql, pk)?.n ?? 0;
}

function newQueue(): TriggerQueue {
  return {
    ...{ position: 0, running: null, rerun: false, timer: null, failures: 0, pausedUntil: 0 },
    calls: new Map(),
    resume: () => undefined,
    error: null,
  };
}

function takeError(queue: TriggerQueue): unknown {
  const { error } = queue;
  queue.error = null;
  return error;
}

interface PendingCall extends Record<string, string | number> {
  id: string;
  resourceId: string;
  /** When it is due, epoch ms; 0 = now. */
  at: number;
}

function pendingCalls({ pk }: Trigger, store: Store): PendingCall[] {
  return store.all<PendingCall>(
    `SELECT id, coalesce(resource_id, id) AS resourceId, coalesce(next_attempt_at, 0) AS at FROM trigger_deliveries
     WHERE trigger_pk = ? AND state = 'pending' ORDER BY pk LIMIT ${MAX_PENDING}`,
    pk,
  );
}

/**
 * The calls to start now, of each object the oldest, and when the next one is due (epoch ms). A receiver that fails gets one
 * call at a time.
 */
function dueCalls(
  pending: readonly PendingCall[],
  { calls, failures, pausedUntil }: TriggerQueue,
  now: number,
): { due: PendingCall[]; nextAt: number | null } {
  const free = (failures > 0 ? 1 : MAX_CALLS_PER_TRIGGER) - calls.size;
  const busy = new Set([...calls.values()].map(({ resourceId }) => resourceId));
  const due: PendingCall[] = [];
  let nextAt: number | null = null;
  for (const call of pending) {
    if (busy.has(call.resourceId)) continue;
    busy.add(call.resourceId);
    const at = Math.max(call.at, pausedUntil);
    if (at > now) nextAt = Math.min(nextAt ?? at, at);
    else if (due.length < free) due.push(call);
  }
  return { due, nextAt };
}

/** What waited for a receiver that was down is not kept waiting when it is back. */
async function retryNow({ pk }: Trigger, store: Store): Promise<void> {
  await store.write((tx) => {
    tx.run("UPDATE trigger_deliveries SET next_attempt_at = NULL WHERE trigger_pk = ? AND state = 'pending'", pk);
  });
}
