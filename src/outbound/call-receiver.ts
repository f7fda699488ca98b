import type { AddressPolicy } from "../base/address-policy.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { type Connections, type Fetched, policedFetch } from "../base/policed-fetch.ts";
import triggerDeliveries from "../resources/outbound/trigger-deliveries.ts";
import triggers from "../resources/outbound/triggers.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { RowOf } from "../schema/resource.ts";
import type { By, Store, Transaction } from "../store/store.ts";
import { entryAt, messageBody } from "./message.ts";
import { GIVE_UP_MS, retryAfterMs, waitAfter } from "./retry.ts";
import { signatureHeaders } from "./signature.ts";

/** What a call needs. */
export interface CallNeeds {
  store: Store;
  catalogue: Catalogue;
  clock: Clock;
  log: Log;
  policy: AddressPolicy;
  by: By;
  /** Breaks calls off at the end. */
  signal: AbortSignal;
  connections: Connections;
}

type Trigger = RowOf<typeof triggers>;
type Delivery = RowOf<typeof triggerDeliveries>;

/** @source Standard Webhooks 1.0, Deliverability: 15 to 30 s */
const TIMEOUT_MS = 15_000;
/** Finished messages kept per trigger. own choice */
const MOST_KEPT = 1_000;
/** Finished ones beyond that are cleared away once in so many messages. */
const CLEARED_EVERY = 100;

/** What came of one call. */
interface Result {
  status: number | null;
  /** What was wrong; null when the receiver took the message. */
  reason: string | null;
  /** Ms after which the receiver wants to be asked again. */
  asked: number | null;
}

/** Makes one call and writes down what came of it; a call that was broken off by the end leaves no trace. */
export async function callReceiver(trigger: Trigger, deliveryId: string, needs: CallNeeds): Promise<void> {
  const { store, catalogue, clock } = needs;
  const delivery = store.get(triggerDeliveries, deliveryId);
  if (!delivery) return;
  const entry = entryAt(delivery.entry ?? 0, store, catalogue);
  const at = clock.now();
  const result = entry
    ? await post(trigger, { id: delivery.id, at, body: messageBody(entry) }, needs)
    : { status: null, reason: "What was written is no longer known.", asked: null };
  if (needs.signal.aborted) return;
  const disabledReason = await store.write((tx) => record(trigger, delivery, { ...result, at }, tx, needs));
  if (disabledReason !== null)
    needs.log.warn({ triggerId: trigger.id, reason: disabledReason }, "a trigger is disabled");
}

async function post(
  trigger: Trigger,
  message: { id: string; at: number; body: string },
  needs: CallNeeds,
): Promise<Result> {
  const { clock } = needs;
  try {
    const headers = {
      "content-type": "application/json; charset=utf-8",
      "content-length": String(Buffer.byteLength(message.body)),
      "user-agent": "Carillon",
      ...signatureHeaders(message, keysOf(trigger, message.at, needs.store)),
    };
    const options = { method: "POST", headers, body: message.body, timeoutMs: TIMEOUT_MS };
    return resultOf(await policedFetch(trigger.url, options, needs), clock.now());
  } catch (error) {
    return { status: null, reason: error instanceof Error ? error.message : String(error), asked: null };
  }
}

/** The keys to sign with: the present one, and the one before while it is good. */
function keysOf(trigger: Trigger, now: number, { secrets }: Store): string[] {
  const { secret, previousSecret, previousSecretUntil } = trigger;
  const keys = [secret, previousSecretUntil !== null && now < previousSecretUntil ? previousSecret : null];
  return keys.filter((key) => key !== null).map((key) => secrets.open(key));
}

function resultOf({ status, headers }: Fetched, now: number): Result {
  if (status >= 200 && status < 300) return { status, reason: null, asked: null };
  return { status, reason: `The receiver answered ${status}.`, asked: retryAfterMs(headers["retry-after"], now) };
}

/** Writes the result; returns why the trigger was disabled by it, else null. */
function record(
  trigger: Trigger,
  delivery: Delivery,
  result: Result & { at: number },
  tx: Transaction,
  { clock, by }: CallNeeds,
): string | null {
  if (!tx.get(triggers, trigger.id)) return null;
  const now = clock.now();
  const attempts = delivery.attempts + 1;
  const wait = result.reason === null ? null : waitAfter(attempts, delivery.id, result.asked);
  const state = result.reason === null ? "delivered" : wait === null ? "dead" : "pending";
  tx.run(
    `UPDATE trigger_deliveries SET updated_at = ?, state = ?, attempts = ?, last_attempt_at = ?, last_status = ?,
       reason = ?, next_attempt_at = ?, delivered_at = ? WHERE pk = ?`,
    ...[now, state, attempts, result.at, result.status, result.reason?.slice(0, 1_000) ?? null],
    ...[wait === null ? null : now + wait, state === "delivered" ? now : null, delivery.pk],
  );
  const failingSince = result.reason === null ? null : (trigger.failingSince ?? now);
  if (failingSince !== trigger.failingSince)
    tx.run("UPDATE triggers SET failing_since = ? WHERE pk = ?", failingSince, trigger.pk);
  if (state !== "pending" && (delivery.entry ?? 0) % CLEARED_EVERY === 0) clearAway(trigger, tx);
  const disabledReason = result.reason === null ? null : reasonToDisable(result, failingSince ?? now, now);
  if (disabledReason !== null) tx.update(triggers, trigger.id, {}, by, { disabled: true, disabledReason });
  return disabledReason;
}

/** @source Standard Webhooks 1.0, Deliverability: 410 ends the subscription */
function reasonToDisable({ status, reason }: Result, failingSince: number, now: number): string | null {
  if (status === 410) return "The receiver answered 410 Gone.";
  if (now - failingSince < GIVE_UP_MS) return null;
  return `Every call failed since ${new Date(failingSince).toISOString()}: ${reason}`.slice(0, 1_000);
}

function clearAway({ pk }: Trigger, tx: Transaction): void {
  tx.run(
    `DELETE FROM trigger_deliveries WHERE trigger_pk = ? AND state <> 'pending' AND pk <= (SELECT pk FROM
       trigger_deliveries WHERE trigger_pk = ? AND state <> 'pending' ORDER BY pk DESC LIMIT 1 OFFSET ${MOST_KEPT})`,
    pk,
    pk,
  );
}
