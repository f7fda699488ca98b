import type { Clock } from "../lib/clock.ts";
import { type ConnectionPool, type FetchResponse, guardedFetch } from "../lib/guarded-fetch.ts";
import type { Log } from "../lib/log.ts";
import type { SsrfGuard } from "../lib/ssrf-guard.ts";
import triggerDeliveries from "../resources/webhooks/trigger-deliveries.ts";
import triggers from "../resources/webhooks/triggers.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store, Transaction } from "../store/store.ts";
import { DISABLE_AFTER_MS, parseRetryAfterMs, webhookRetryDelayMs } from "./retry-policy.ts";
import { auditedWriteAt, webhookBody } from "./webhook-message.ts";
import { signatureHeaders } from "./webhook-signature.ts";

/** Dependencies of a webhook call. */
export interface WebhookDeliveryDeps {
  store: Store;
  catalogue: Catalogue;
  clock: Clock;
  log: Log;
  ssrfGuard: SsrfGuard;
  by: ActorContext;
  /** Breaks calls off at the end. */
  signal: AbortSignal;
  connections: ConnectionPool;
}

type Trigger = RowOf<typeof triggers>;
type Delivery = RowOf<typeof triggerDeliveries>;

/** @source Standard Webhooks 1.0, Deliverability: 15 to 30 s */
const TIMEOUT_MS = 15_000;
/** Finished messages kept per trigger. */
const MAX_DELIVERIES_KEPT = 1_000;
/** Pruning interval in audit entries. */
const PRUNE_INTERVAL = 100;

/** Result of one call. */
interface DeliveryResult {
  status: number | null;
  /** Error; null on success. */
  reason: string | null;
  /** Retry-After of the receiver, ms. */
  retryAfterMs: number | null;
}

/** Makes one call and stores the result; a call aborted by shutdown leaves no trace. */
export async function deliverWebhook(trigger: Trigger, deliveryId: string, deps: WebhookDeliveryDeps): Promise<void> {
  const { store, catalogue, clock } = deps;
  const delivery = store.get(triggerDeliveries, deliveryId);
  if (!delivery) return;
  const entry = auditedWriteAt(delivery.entry ?? 0, store, catalogue);
  const at = clock.now();
  const result = entry
    ? await post(trigger, { id: delivery.id, at, body: webhookBody(entry) }, deps)
    : { status: null, reason: "The audit entry no longer exists.", retryAfterMs: null };
  if (deps.signal.aborted) return;
  const disabledReason = await store.write((tx) => recordResult(trigger, delivery, { ...result, at }, tx, deps));
  if (disabledReason !== null)
    deps.log.warn({ event: "trigger.disabled", triggerId: trigger.id, reason: disabledReason }, "trigger disabled");
}

async function post(
  trigger: Trigger,
  message: { id: string; at: number; body: string },
  deps: WebhookDeliveryDeps,
): Promise<DeliveryResult> {
  const { clock } = deps;
  try {
    const headers = {
      "content-type": "application/json; charset=utf-8",
      "content-length": String(Buffer.byteLength(message.body)),
      "user-agent": "Carillon",
      ...signatureHeaders(message, keysOf(trigger, message.at, deps.store)),
    };
    const options = { method: "POST", headers, body: message.body, timeoutMs: TIMEOUT_MS };
    return resultOf(await guardedFetch(trigger.url, options, deps), clock.now());
  } catch (error) {
    return { status: null, reason: error instanceof Error ? error.message : String(error), retryAfterMs: null };
  }
}

/** The keys to sign with: the present one, and the one before while it is good. */
function keysOf(trigger: Trigger, now: number, { secrets }: Store): string[] {
  const { secret, previousSecret, previousSecretUntil } = trigger;
  const keys = [secret, previousSecretUntil !== null && now < previousSecretUntil ? previousSecret : null];
  return keys.filter((key) => key !== null).map((key) => secrets.open(key));
}

function resultOf({ status, headers }: FetchResponse, now: number): DeliveryResult {
  if (status >= 200 && status < 300) return { status, reason: null, retryAfterMs: null };
  return {
    status,
    reason: `The receiver responded with status ${status}.`,
    retryAfterMs: parseRetryAfterMs(headers["retry-after"], now),
  };
}

/** Writes the result; returns why the trigger was disabled by it, else null. */
function recordResult(
  trigger: Trigger,
  delivery: Delivery,
  result: DeliveryResult & { at: number },
  tx: Transaction,
  { clock, by }: WebhookDeliveryDeps,
): string | null {
  if (!tx.get(triggers, trigger.id)) return null;
  const now = clock.now();
  const attempts = delivery.attempts + 1;
  const retryDelayMs = result.reason === null ? null : webhookRetryDelayMs(attempts, delivery.id, result.retryAfterMs);
  const state = result.reason === null ? "delivered" : retryDelayMs === null ? "dead" : "pending";
  tx.run(
    `UPDATE trigger_deliveries SET updated_at = ?, state = ?, attempts = ?, last_attempt_at = ?, last_status = ?,
       reason = ?, next_attempt_at = ?, delivered_at = ? WHERE pk = ?`,
    ...[now, state, attempts, result.at, result.status, result.reason?.slice(0, 1_000) ?? null],
    ...[retryDelayMs === null ? null : now + retryDelayMs, state === "delivered" ? now : null, delivery.pk],
  );
  const failingSince = result.reason === null ? null : (trigger.failingSince ?? now);
  if (failingSince !== trigger.failingSince)
    tx.run("UPDATE triggers SET failing_since = ? WHERE pk = ?", failingSince, trigger.pk);
  if (state !== "pending" && (delivery.entry ?? 0) % PRUNE_INTERVAL === 0) pruneDeliveries(trigger, tx);
  const disabledReason = result.reason === null ? null : reasonToDisable(result, failingSince ?? now, now);
  if (disabledReason !== null) tx.update(triggers, trigger.id, {}, by, { disabled: true, disabledReason });
  return disabledReason;
}

/** @source Standard Webhooks 1.0, Deliverability: 410 ends the subscription */
function reasonToDisable({ status, reason }: DeliveryResult, failingSince: number, now: number): string | null {
  if (status === 410) return "The receiver responded with 410 Gone.";
  if (now - failingSince < DISABLE_AFTER_MS) return null;
  return `All calls failed since ${new Date(failingSince).toISOString()}: ${reason}`.slice(0, 1_000);
}

function pruneDeliveries({ pk }: Trigger, tx: Transaction): void {
  tx.run(
    `DELETE FROM trigger_deliveries WHERE trigger_pk = ? AND state <> 'pending' AND pk <= (SELECT pk FROM
       trigger_deliveries WHERE trigger_pk = ? AND state <> 'pending' ORDER BY pk DESC LIMIT 1 OFFSET ${MAX_DELIVERIES_KEPT})`,
    pk,
    pk,
  );
}
