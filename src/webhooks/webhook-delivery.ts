import type { Clock } from "../lib/clock.ts";
import { type ConnectionPool, type FetchResponse, guardedFetch } from "../lib/guarded-fetch.ts";
import type { Log } from "../lib/log.ts";
import { parseRetryAfterMs } from "../lib/retry-after.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { SsrfGuard } from "../lib/ssrf-guard.ts";
import triggerDeliveries from "../resources/webhooks/trigger-deliveries.ts";
import triggers from "../resources/webhooks/triggers.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store, Transaction } from "../store/store.ts";
import { DISABLE_AFTER_MS, webhookRetryDelayMs } from "./retry-policy.ts";
import { type AuditedWrite, auditedWriteAt } from "./webhook-message.ts";
import { webhookRequest } from "./webhook-request.ts";
import { signatureHeaders } from "./webhook-signature.ts";

/** Dependencies of a webhook call. */
export interface WebhookDeliveryDeps {
  store: Store;
  catalogue: Catalogue;
  clock: Clock;
  log: Log;
  ssrfGuard: SsrfGuard;
  by: ActorContext;
  /** Aborts calls on shutdown. */
  signal: AbortSignal;
  connections: ConnectionPool;
}

type Trigger = RowOf<typeof triggers>;
type Delivery = RowOf<typeof triggerDeliveries>;

/** @source Standard Webhooks 1.0, Deliverability: 15 to 30 s */
const TIMEOUT_MS = 30_000;
/** Finished deliveries kept per trigger. */
const MAX_DELIVERIES_KEPT = 1_000;
/** Pruning interval in audit entries. */
const PRUNE_INTERVAL = 100;

/** Result of one call. */
export interface DeliveryResult {
  status: number | null;
  /** Error; null on success. */
  reason: string | null;
  /** Retry-After of the receiver, ms. */
  retryAfterMs: number | null;
}

/** Makes one call and stores the result; null if there was none: a call aborted by shutdown leaves no trace. */
export async function deliverWebhook(
  trigger: Trigger,
  deliveryId: string,
  deps: WebhookDeliveryDeps,
): Promise<DeliveryResult | null> {
  const { store, catalogue, clock } = deps;
  const delivery = store.get(triggerDeliveries, deliveryId);
  if (!delivery) return null;
  const entry = auditedWriteAt(delivery.entry ?? 0, store, catalogue);
  const at = clock.now();
  const result = entry
    ? await call(trigger, { id: delivery.id, at, entry }, deps)
    : { status: null, reason: sentence("webhook.entry-gone"), retryAfterMs: null };
  if (deps.signal.aborted) return null;
  const disabledReason = await store.write((tx) => recordResult(trigger, delivery, { ...result, at }, tx, deps));
  if (disabledReason !== null)
    deps.log.warn({ event: "trigger.disabled", triggerId: trigger.id, reason: disabledReason }, "trigger disabled");
  return result;
}

async function call(
  trigger: Trigger,
  { id, at, entry }: { id: string; at: number; entry: AuditedWrite },
  deps: WebhookDeliveryDeps,
): Promise<DeliveryResult> {
  try {
    const { method, body, headers } = webhookRequest(trigger, entry, deps.store);
    const options = {
      method,
      headers: {
        ...headers,
        ...(body === null ? {} : { "content-length": String(Buffer.byteLength(body)) }),
        ...signatureHeaders({ id, at, body: body ?? "" }, keysOf(trigger, at, deps.store)),
      },
      ...(body === null ? {} : { body }),
      ...(trigger.certificateAuthority === null ? {} : { ca: trigger.certificateAuthority }),
      timeoutMs: TIMEOUT_MS,
      discardBody: true,
    };
    return resultOf(await guardedFetch(trigger.url, options, deps), deps.clock.now());
  } catch (error) {
    return { status: null, reason: error instanceof Error ? error.message : String(error), retryAfterMs: null };
  }
}

/** Signing keys: the current one, and the previous one until it expires. */
function keysOf(trigger: Trigger, now: number, { secrets }: Store): string[] {
  const { secret, previousSecret, previousSecretUntil } = trigger;
  const keys = [secret, previousSecretUntil !== null && now < previousSecretUntil ? previousSecret : null];
  return keys.filter((key) => key !== null).map((key) => secrets.open(key));
}

function resultOf({ status, headers }: FetchResponse, now: number): DeliveryResult {
  if (status >= 200 && status < 300) return { status, reason: null, retryAfterMs: null };
  return {
    status,
    reason: sentence("webhook.status", { status }),
    retryAfterMs: parseRetryAfterMs(headers["retry-after"], now),
  };
}

/** Stores the result; returns the reason if it disables the trigger, otherwise null. */
function recordResult(
  trigger: Trigger,
  delivery: Delivery,
  result: DeliveryResult & { at: number },
  tx: Transaction,
  { clock, by }: WebhookDeliveryDeps,
): string | null {
  // Other calls of the trigger may have ended meanwhile.
  const current = tx.get(triggers, trigger.id);
  if (!current) return null;
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
  const failingSince = result.reason === null ? null : (current.failingSince ?? now);
  if (failingSince !== current.failingSince)
    tx.run("UPDATE triggers SET failing_since = ? WHERE pk = ?", failingSince, trigger.pk);
  if (state !== "pending" && (delivery.entry ?? 0) % PRUNE_INTERVAL === 0) pruneDeliveries(trigger, tx);
  const disabledReason = result.reason === null ? null : reasonToDisable(result, failingSince ?? now, now);
  if (disabledReason !== null) tx.update(triggers, trigger.id, {}, by, { disabled: true, disabledReason });
  return disabledReason;
}

/** @source Standard Webhooks 1.0, Deliverability: 410 ends the subscription */
function reasonToDisable({ status, reason }: DeliveryResult, failingSince: number, now: number): string | null {
  if (status === 410) return sentence("webhook.gone");
  if (now - failingSince < DISABLE_AFTER_MS) return null;
  return sentence("webhook.failing", { since: new Date(failingSince).toISOString(), reason: reason ?? "" }).slice(
    0,
    1_000,
  );
}

function pruneDeliveries({ pk }: Trigger, tx: Transaction): void {
  tx.run(
    `DELETE FROM trigger_deliveries WHERE trigger_pk = ? AND state <> 'pending' AND pk <= (SELECT pk FROM
       trigger_deliveries WHERE trigger_pk = ? AND state <> 'pending' ORDER BY pk DESC LIMIT 1 OFFSET ${MAX_DELIVERIES_KEPT})`,
    pk,
    pk,
  );
}
