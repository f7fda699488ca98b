import { type Limits, STATE_TOLD } from "../frames.ts";
import { productIds, put, shownRow, type Work } from "../work.ts";
import type { Journal } from "./activities.ts";
import { linkState } from "./link-state.ts";
import { enqueue } from "./outbox.ts";
import { LINK } from "./tables.ts";

/** Begins to tell all own state anew. */
export function* beginTelling(): Work<void> {
  yield* put(LINK, { ...(yield* linkState()), telling: { type: "", after: null } });
}

/** Whether some of it is still to be told. */
export function* isUntold(): Work<boolean> {
  return (yield* linkState()).telling !== null;
}

/**
 * Tells the next rows of own state, of which the cloud may know what an older copy of this appliance does not. True when
 * all of it is told.
 */
export function* tellSlice({ types, newId, now }: Journal, limits: Limits): Work<boolean> {
  const { telling } = yield* linkState();
  if (!telling) return true;
  const { stateOfSites } = types;
  const type = stateOfSites.find((each) => each >= telling.type);
  const ids = type ? yield* productIds(type, telling.after, limits.sliceRows) : [];
  for (const id of ids) {
    const body = yield* shownRow(type as string, id);
    if (body)
      yield* enqueue("bulk", { uid: newId(), op: "p", type: type as string, id, body, at: now, newestOnly: true });
  }
  const next = stateOfSites.find((each) => each > (type ?? ""));
  const isLast = ids.length < limits.sliceRows && (!type || !next);
  if (isLast) yield* enqueue("bulk", { uid: newId(), op: "p", type: STATE_TOLD, id: STATE_TOLD, body: null, at: now });
  const onwards =
    ids.length < limits.sliceRows ? { type: next ?? "", after: null } : { type: type ?? "", after: ids.at(-1) ?? null };
  yield* put(LINK, { ...(yield* linkState()), telling: isLast ? null : onwards });
  return isLast;
}
