import ringLists from "../resources/bells/ring-lists.ts";
import endpoints from "../resources/devices/endpoints.ts";
import type { AnyResource, RowBase } from "../schema/resource.ts";
import type { Behaviour, Change, Transaction } from "../store/store.ts";
import { OWNERS } from "./plan-source.ts";
import type { Planner } from "./planner.ts";
import type { OwnerKind } from "./ring-book.ts";

/** A behaviour and the resource it is bound to. */
type Bound = readonly [resource: AnyResource, behaviour: Behaviour];

/**
 * The same behaviours, with the plan following what is written: that of a schedule in the transaction of its write, those
 * of a ring list's schedules, or of all with the appliance's own zone, soon after and before they next ring.
 */
export function withPlans(bound: readonly Bound[], planner: Planner): readonly Bound[] {
  return bound.map(([resource, behaviour]) => {
    const follow = followerOf(resource, planner);
    if (!follow) return [resource, behaviour];
    const afterWrite: Behaviour["afterWrite"] = (change, tx, by) => {
      behaviour.afterWrite?.(change, tx, by);
      follow(change, tx);
    };
    return [resource, { ...behaviour, afterWrite }];
  });
}

type Follower = (change: Change, tx: Transaction) => void;

function followerOf(resource: AnyResource, planner: Planner): Follower | null {
  const kinds = Object.entries(OWNERS) as [OwnerKind, AnyResource][];
  const kind = kinds.find(([, owner]) => owner.name === resource.name)?.[0];
  if (kind) {
    return ({ op, before, after, given }, tx) => {
      const id = (after ?? before)?.id;
      if (!id) return;
      // Nobody gave it anything: a change of several schedules at once reached it, too many to be planned there and then.
      if (op === "update" && given.size === 0) planner.markStale(tx, [id]);
      else planner.replan(tx, kind, id, op === "delete");
    };
  }
  if (resource.name === ringLists.name) {
    return ({ after }, tx) => {
      if (after) planner.markStale(tx, schedulesOf(tx, after));
    };
  }
  if (resource.name === endpoints.name) return (_change, tx) => planner.review(tx);
  return null;
}

function schedulesOf(tx: Transaction, { pk }: RowBase): string[] {
  const sql = `SELECT s.id FROM bell_schedules__ring_list_ids l JOIN bell_schedules s ON s.pk = l.owner WHERE l.target = ?`;
  return tx.all<{ id: string }>(sql, pk).map(({ id }) => id);
}
