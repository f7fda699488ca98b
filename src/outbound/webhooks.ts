import { isLocked } from "../access/locks.ts";
import type { Access } from "../access/principal.ts";
import { createTurns } from "../access/turns.ts";
import type { AddressPolicy } from "../base/address-policy.ts";
import type { Clock, Timer } from "../base/clock.ts";
import type { Events } from "../base/events.ts";
import type { Log } from "../base/log.ts";
import { keepConnections } from "../base/policed-fetch.ts";
import triggers from "../resources/outbound/triggers.ts";
import users from "../resources/people/users.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { RowOf } from "../schema/resource.ts";
import type { By, Scope, Store } from "../store/store.ts";
import { type CallNeeds, callReceiver } from "./call-receiver.ts";
import { entriesBetween, eventName, newestEntry, subjectOf, type WriteEntry } from "./message.ts";
import { isAt, pathsOf, resourcesAt, wasVisible } from "./told-writes.ts";

/** What the webhooks are made of. */
export interface WebhookNeeds {
  store: Store;
  access: Access;
  catalogue: Catalogue;
  clock: Clock;
  events: Events;
  log: Log;
  policy: AddressPolicy;
  /** On whose behalf triggers are disabled. */
  by: By;
}

/** The calls of all triggers. */
export interface Webhooks {
  /** Takes up what is waiting and what was written meanwhile. */
  start(): void;
  /** Breaks off calls under way; they are made again at the next start. */
  stop(): Promise<void>;
}

type Trigger = RowOf<typeof triggers>;

/** Entries looked at in one go, and messages that may wait per trigger: the others wait in the audit. own choice */
const SLICE = 200;
const MOST_WAITING = 1_000;
/** Entries that concern nobody are noted this seldom; after a restart they are looked at again. */
const NOTED_EVERY = 1_000;

/** Calls under way at a time, of one trigger always one. own choice: slow receivers hold up others only when they are many. */
const MOST_CALLS = 16;

/** One trigger at work; nothing of it needs to be kept over a restart. */
interface Line {
  /** Number of the last entry looked at, where it is further than what the row says. */
  position: number;
  running: Promise<void> | null;
  again: boolean;
  timer: Timer | null;
}

/** Makes the webhooks; nothing is called before `start`. One trigger's messages go one by one in their order. */
export function createWebhooks(needs: WebhookNeeds): Webhooks {
  const { store, clock, events, log } = needs;
  const lines = new Map<string, Line>();
  const ending = new AbortController();
  const connections = keepConnections();
  const inTurn = createTurns(MOST_CALLS);
  const call: CallNeeds = { ...needs, signal: ending.signal, connections };
  let woken = false;

  function wakeAll(): void {
    if (woken || ending.signal.aborted) return;
    woken = true;
    clock.soon(() => {
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
    line.running ??= runLine(id, line).finally(() => {
      line.running = null;
    });
  }

  async function runLine(id: string, line: Line): Promise<void> {
    try {
      while (line.again && !ending.signal.aborted) {
        line.again = false;
        await work(id, line);
      }
    } catch (error) {
      // Rows are the truth: the next write, or the next start, takes it up again.
      if (!ending.signal.aborted) log.error({ err: error, triggerId: id }, "a trigger failed");
    }
  }

  /** Tells everything that can be told now. */
  async function work(id: string, line: Line): Promise<void> {
    while (!ending.signal.aborted) {
      const trigger = store.get(triggers, id);
      if (!trigger) return void lines.delete(id);
      const scope = trigger.disabled ? null : scopeOf(trigger, needs);
      if (!scope) return;
      const isLooking = await collect(trigger, scope, line, needs);
      const next = nextCall(trigger, store);
      if (!next) {
        if (isLooking) continue;
        return;
      }
      const waitMs = next.at - clock.now();
      if (waitMs <= 0) await inTurn(() => callReceiver(trigger, next.id, call));
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
function scopeOf(trigger: Trigger, { store, access, clock, by }: WebhookNeeds): Scope | null {
  if (trigger.ownerId === null) return by.scope;
  const owner = store.get(users, trigger.ownerId);
  if (!owner || isLocked(owner.lock, clock.now())) return null;
  const { id: userId, pk: userPk, name, email } = owner;
  try {
    return access.scopeOf(
      { userId, userPk, name, email, tokenId: "", scopes: null, accessToken: null },
      trigger.actingDomainId,
    );
  } catch {
    return null;
  }
}

/** Looks at the next entries and stores a message for each that concerns the trigger; false when there were none. */
async function collect(trigger: Trigger, scope: Scope, line: Line, needs: WebhookNeeds): Promise<boolean> {
  const { store, catalogue } = needs;
  const position = Math.max(line.position, trigger.position ?? 0);
  const upTo = Math.min(newestEntry(store), position + SLICE);
  if (upTo <= position || waitingOf(trigger, store) >= MOST_WAITING) return false;
  const resources = resourcesAt(trigger.spec, catalogue);
  const told = entriesBetween({ position, upTo, resources }, store, catalogue).filter((entry) =>
    concerns(entry, trigger, scope, needs),
  );
  if (told.length > 0 || upTo - (trigger.position ?? 0) >= NOTED_EVERY) await keep(trigger, told, upTo, needs);
  line.position = upTo;
  return true;
}

function concerns(entry: WriteEntry, { spec, scenarioId }: Trigger, scope: Scope, needs: WebhookNeeds): boolean {
  const row = subjectOf(entry);
  if (scenarioId !== null && (row.scenarioId !== scenarioId || entry.op !== "create")) return false;
  const { store: reader, catalogue } = needs;
  return isAt(spec, pathsOf(entry.resource, row)) && wasVisible(entry.resource, row, scope, { reader, catalogue });
}

async function keep(
  { id, pk }: Trigger,
  told: readonly WriteEntry[],
  upTo: number,
  { store, clock }: WebhookNeeds,
): Promise<void> {
  await store.write((tx) => {
    // Deleted meanwhile.
    if (!tx.get(triggers, id)) return;
    const now = clock.now();
    for (const entry of told) {
      tx.run(
        `INSERT INTO trigger_deliveries (id, created_at, updated_at, trigger_pk, event, resource_id, state, attempts, entry)
         VALUES (uuid7(), ?, ?, ?, ?, ?, 'pending', 0, ?)`,
        ...[now, now, pk, eventName(entry.resource.name, entry.op), subjectOf(entry).id, entry.pk],
      );
    }
    tx.run("UPDATE triggers SET position = ? WHERE pk = ?", upTo, pk);
  });
}

function waitingOf({ pk }: Trigger, store: Store): number {
  const sql = "SELECT count(*) AS n FROM trigger_deliveries WHERE trigger_pk = ? AND state = 'pending'";
  return store.one<{ n: number }>(sql, pk)?.n ?? 0;
}

/** The oldest message that waits, and when it is due (epoch ms; 0 = at once). */
function nextCall({ pk }: Trigger, store: Store): { id: string; at: number } | null {
  return store.one<{ id: string; at: number }>(
    `SELECT id, coalesce(next_attempt_at, 0) AS at FROM trigger_deliveries
     WHERE trigger_pk = ? AND state = 'pending' ORDER BY pk LIMIT 1`,
    pk,
  );
}
