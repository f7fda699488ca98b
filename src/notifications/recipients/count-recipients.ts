import { type Clock, yieldToEventLoop } from "../../lib/clock.ts";
import { declinableTemplatePk, filterDecliners } from "../../people/opt-outs.ts";
import type { StoreReader } from "../../store/store.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { iterateUsers } from "./recipient-writer.ts";

/** Users counted per turn: some 2 ms. */
const CHUNK_SIZE = 500;
/** A response waits no longer for the number. */
const MAX_COUNTING_MS = 50;

/** Distinct users that a stored message goes to, without those who opted out; null if counting takes longer than 50 ms. */
export async function countRecipients(
  { pk, messageTemplateId }: NotificationRow,
  { store, clock }: { store: StoreReader; clock: Clock },
): Promise<number | null> {
  const endsAt = clock.monotonicMs() + MAX_COUNTING_MS;
  const template = messageTemplateId === null ? null : declinableTemplatePk(store, { pk });
  let count = 0;
  let chunks = 0;
  for (const users of iterateUsers(store, pk, clock.now(), CHUNK_SIZE)) {
    if (chunks > 0) await yieldToEventLoop(clock);
    // The first chunk is nearly all of them for most messages, and always counted.
    if (chunks > 0 && clock.monotonicMs() >= endsAt) return null;
    count += users.length - (template === null ? 0 : filterDecliners(store, template, users).size);
    chunks++;
  }
  return count;
}
