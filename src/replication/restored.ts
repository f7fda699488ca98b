import { beginEpoch } from "./hub/publish.ts";
import { HEAD } from "./hub/tables.ts";
import type { Journal } from "./site/activities.ts";
import { adoptRestoredCopy } from "./site/welcome.ts";
import { get, type Work } from "./work.ts";

/**
 * Tells data that are brought back from a backup what they are, before anything uses them: an appliance's begin an
 * incarnation, in which no announcement sounds again; a cloud's begin an epoch, so that every appliance compares all it has
 * and takes commands whose numbers were given before. Does nothing where there was no link.
 */
export function* adoptRestored(journal: Journal): Work<void> {
  yield* adoptRestoredCopy(journal);
  if (yield* get(HEAD, "head")) yield* beginEpoch(journal.newId(), journal.now);
}
