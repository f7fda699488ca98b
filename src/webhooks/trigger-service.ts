import type { Clock } from "../lib/clock.ts";
import { notFound } from "../lib/errors.ts";
import triggerDeliveries from "../resources/webhooks/trigger-deliveries.ts";
import triggers from "../resources/webhooks/triggers.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store, Sync } from "../store/store.ts";
import { generateWebhookSecret } from "./webhook-signature.ts";

type Trigger = RowOf<typeof triggers>;
type Delivery = RowOf<typeof triggerDeliveries>;

/** How long calls carry the signature of the key before too. A day, as receivers change theirs by hand. */
const SECRET_OVERLAP_MS = 24 * 3_600_000;

/** Creates a trigger. Returns the generated signing key, or null if one was given. Throws like every creation. */
export async function createTrigger(
  store: Store,
  input: Readonly<Record<string, unknown>>,
  by: ActorContext,
): Promise<{ row: Trigger; secret: string | null }> {
  const secret = input.secret === undefined || input.secret === null ? generateWebhookSecret() : null;
  const row = await store.create(triggers, secret === null ? input : { ...input, secret }, by);
  return { row, secret };
}

/** Rotates the signing key and returns the new one; the previous key stays valid for a day. Throws not-found. */
export async function rotateTriggerSecret(
  { store, clock }: { store: Store; clock: Clock },
  id: string,
  by: ActorContext,
): Promise<{ row: Trigger; secret: string }> {
  const secret = generateWebhookSecret();
  const row = await store.write((tx) => {
    const before = tx.get(triggers, id);
    if (!before) throw notFound();
    const previous = { previousSecret: before.secret, previousSecretUntil: clock.now() + SECRET_OVERLAP_MS };
    return tx.update(triggers, id, {}, by, { ...previous, secret: store.secrets.seal(secret) }) as Sync<Trigger>;
  });
  return { row, secret };
}

/** Queues a delivery again with the same `webhook-id`, before pending deliveries. Throws not-found. */
export async function replayDelivery(store: Store, triggerId: string, deliveryId: string): Promise<Delivery> {
  return store.write((tx) => {
    const trigger = tx.get(triggers, triggerId);
    if (!trigger) throw notFound();
    const { changes } = tx.run(
      `UPDATE trigger_deliveries SET state = 'pending', attempts = 0, next_attempt_at = NULL, delivered_at = NULL
       WHERE id = ? AND trigger_pk = ?`,
      deliveryId,
      trigger.pk,
    );
    const row = tx.get(triggerDeliveries, deliveryId);
    if (changes === 0 || !row) throw notFound();
    tx.emit("trigger.replayed", { triggerId });
    return row as Sync<Delivery>;
  });
}
