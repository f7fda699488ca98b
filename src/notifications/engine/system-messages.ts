import { CallerError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { ActorContext, Store } from "../../store/store.ts";
import type { NotificationService, SendOptions } from "../notification-service.ts";

/** Dependencies of modules that send messages. */
export interface SystemMessageDeps {
  store: Store;
  log: Log;
  notificationService: Pick<NotificationService, "send">;
  by: ActorContext;
}

/**
 * Works off an outbox in order: `next` selects the first row after the `pk` that is its parameter, and `take` sends and
 * removes it. One that fails is reported to `failed`, stays for the next time and does not block the others.
 */
export async function drainQueue<Q extends { pk: number }>(
  { store }: Pick<SystemMessageDeps, "store">,
  work: { next: string; take(row: Q): Promise<void>; failed(error: unknown, row: Q): void },
  signal: AbortSignal,
): Promise<void> {
  for (let last = 0; !signal.aborted; ) {
    const row = store.one<Q>(work.next, last);
    if (!row) return;
    last = row.pk;
    await work.take(row).catch((error: unknown) => work.failed(error, row));
  }
}

/** A message that a module sends. */
export interface SystemMessage {
  input: Record<string, unknown>;
  options: SendOptions;
  /** Domain whose users see it; null: the module's own. */
  domainId: string | null;
}

/**
 * Sends a message for the fact `key` of a module, exactly once, also across a crash. Returns the notification's id;
 * null where `compose` returns nothing to send, and when it cannot be sent, which is reported to `refused`.
 */
export async function sendSystemMessageOnce(
  { store, notificationService, by }: SystemMessageDeps,
  fact: { owner: string; key: string },
  compose: () => SystemMessage | null,
  refused: (error: CallerError) => void,
): Promise<string | null> {
  const once = { ...fact, requestHash: "" };
  const sent = store.idempotency.find(once)?.createdRow;
  if (sent) return sent.id;
  try {
    const message = compose();
    if (!message) return null;
    const domainId = message.domainId ?? by.scope.domainId;
    const sender = { ...by, scope: { ...by.scope, domainId }, idempotencyClaim: once };
    return (await notificationService.send(message.input, sender, message.options)).id;
  } catch (error) {
    if (!(error instanceof CallerError)) throw error;
    refused(error);
    return null;
  }
}
