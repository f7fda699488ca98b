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
import { deliverWebhook, type WebhookDeliveryDeps } from "./webhook-delivery.ts";
import { matchesSpec, resourcesMatching, rowPaths, wasVisible } from "./webhook-events.ts";
import {
  type AuditedWrite,
  affectedRow,
  auditedWritesBetween,
  newestAuditNumber,
  webhookEventType,
} from "./webhook-message.ts";

/** What the webhooks are made of. */
export interface WebhookDispatcherDeps {
  store: Store;
  access: AccessControl;
  catalogue: Catalogue;
  clock: Clock;
  events: Events;
  log: Log;
  ssrfGuard: SsrfGuard;
  /** On whose behalf triggers are disabled. */
  by: ActorContext;
}

/** The calls of all triggers. */
export interface WebhookDispatcher {
  /** Takes up what is waiting and what was written meanwhile. */
  start(): void;
  /** Breaks off calls under way; they are made again at the next start. */
  stop(): Promise<void>;
}

type Trigger = RowOf<typeof triggers>;

/** Entries looked at in one go, and messages that may wait per trigger: the others wait in the audit. own choice */
const CHUNK_ENTRIES = 200;
const MAX_PENDING = 1_000;
/** Entries that concern nobody are noted this seldom; after a restart they are looked at again. */
const CHECKPOINT_INTERVAL = 1_000;

/** Calls under way at a time, of one trigger always one. own choice: slow receivers hold up others only when they are many. */
const MAX_CONCURRENT_CALLS = 16;

/** One trigger at work; nothing of it needs to be kept over a restart. */
interface TriggerQueue {
  /** Number of the last entry looked at, where it is further than what the row says. */
  position: number;
  running: Promise<void> | null;
  again: boolean;
  timer: Timer | null;
}

/** Makes the webhooks; nothing is called before `start`. One trigger's messages go one by one in their order. */
export function createWebhookDispatcher(needs: WebhookDispatcherDeps): WebhookDispatcher {
  const { store, clock, events, log } = needs;
  const lines = new Map<string, TriggerQueue>();
  const ending = new AbortController();
  const connections = createConnectionPool();
  const inTurn = createSemaphore(MAX_CONCURRENT_CALLS);
  const call: WebhookDeliveryDeps = { ...needs, signal: ending.signal, connections };
  let woken = false;

  function wakeAll(): void {
    if (woken || ending.signal.aborted) return;
    woken = true;
    clock.defer(() => {
      woken = false;
      if (ending.signal.aborted) return;
      for (const { id } of store.all<{ id: string }>("SELECT id FROM triggers")) wake(id);
    });
  }

  function wake(id: string): void {
    const line = lines.get(id) ?? { position: 0, running: null, again: false, timer: null };
    lines.set(id, line);
    line.timer?.cancel();
    line.timer = null;
    line.again = true;
    line.running ??= runQueue(id, line).finally(() => {
      line.running = null;
    });
  }

  async function runQueue(id: string, line: TriggerQueue): Promise<void> {
    try {
      while (line.again && !ending.signal.aborted) {
        line.again = false;
        await processQueue(id, line);
      }
    } catch (error) {
      // Rows are the truth: the next write, or the next start, takes it up again.
      if (!ending.signal.aborted) log.error({ err: error, triggerId: id }, "a trigger failed");
    }
  }

  /** Tells everything that can be told now. */
  async function processQueue(id: string, line: TriggerQueue): Promise<void> {
    while (!ending.signal.aborted) {
      const trigger = store.get(triggers, id);
      if (!trigger) return void lines.delete(id);
      const scope = trigger.disabled ? null : scopeOf(trigger, needs);
      if (!scope) return;
      const isLooking = await collect(trigger, scope, line, needs);
      const next = nextDelivery(trigger, store);
      if (!next) {
        if (isLooking) continue;
        return;
      }
      const waitMs = next.at - clock.now();
      if (waitMs <= 0) await inTurn(() => deliverWebhook(trigger, next.id, call));
      else if (!isLooking) {
        line.timer = clock.after(waitMs, () => wake(id), { background: true });
        return;
      }
    }
  }

  let stopListening: (() => void)[] = [];
  return {
    start() {
      stopListening = [events.on("row.changed", wakeAll), events.on("trigger.replayed", wakeAll)];
      wakeAll();
    },
    async stop() {
      for (const off of stopListening) off();
      ending.abort();
      const running = [...lines.values()].map((line) => {
        line.timer?.cancel();
        return line.running;
      });
      await Promise.all(running);
      connections.close();
    },
  };
}

/** What the owner sees; null while the owner is locked or may not act in the trigger's domain: nothing is passed over then. */
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

/** Looks at the next entries and stores a message for each that concerns the trigger; false when there were none. */
async function collect(
  trigger: Trigger,
  scope: AccessScope,
  line: TriggerQueue,
  needs: WebhookDispatcherDeps,
): Promise<boolean> {
  const { store, catalogue } = needs;
  const position = Math.max(line.position, trigger.position ?? 0);
  const upTo = Math.min(newestAuditNumber(store), position + CHUNK_ENTRIES);
  if (upTo <= position || pendingCount(trigger, store) >= MAX_PENDING) return false;
  const resources = resourcesMatching(trigger.spec, catalogue);
  const told = auditedWritesBetween({ position, upTo, resources }, store, catalogue).filter((entry) =>
    isRelevant(entry, trigger, scope, needs),
  );
  if (told.length > 0 || upTo - (trigger.position ?? 0) >= CHECKPOINT_INTERVAL)
    await storeMessages(trigger, told, upTo, needs);
  line.position = upTo;
  return true;
}

function isRelevant(
  entry: AuditedWrite,
  { spec, scenarioId }: Trigger,
  scope: AccessScope,
  needs: WebhookDispatcherDeps,
): boolean {
  const row = affectedRow(entry);
  if (scenarioId !== null && (row.scenarioId !== scenarioId || entry.op !== "create")) return false;
  const { store: reader, catalogue } = needs;
  return (
    matchesSpec(spec, rowPaths(entry.resource, row)) && wasVisible(entry.resource, row, scope, { reader, catalogue })
  );
}

async function storeMessages(
  { id, pk }: Trigger,
  told: readonly AuditedWrite[],
  upTo: number,
  { store, clock }: WebhookDispatcherDeps,
): Promise<void> {
  await store.write((tx) => {
    // Deleted meanwhile.
    if (!tx.get(triggers, id)) return;
    const now = clock.now();
    for (const entry of told) {
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

/** The oldest message that waits, and when it is due (epoch ms; 0 = at once). */
function nextDelivery({ pk }: Trigger, store: Store): { id: string; at: number } | null {
  return store.one<{ id: string; at: number }>(
    `SELECT id, coalesce(next_attempt_at, 0) AS at FROM trigger_deliveries
     WHERE trigger_pk = ? AND state = 'pending' ORDER BY pk LIMIT 1`,
    pk,
  );
}
