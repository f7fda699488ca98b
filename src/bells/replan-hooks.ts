import ringLists from "../resources/bells/ring-lists.ts";
import endpoints from "../resources/devices/endpoints.ts";
import type { AnyResource, RowBase } from "../schema/resource.ts";
import type { ResourceHooks, RowMutation, Transaction } from "../store/store.ts";
import { RESOURCE_BY_OWNER_KIND } from "./plan-source.ts";
import type { Planner } from "./planner.ts";
import type { OwnerKind } from "./ring-repository.ts";

/** Hooks and the resource they are bound to. */
type BoundHooks = readonly [resource: AnyResource, hooks: ResourceHooks];

/**
 * Adds replanning to the hooks: a write to a schedule replans it in the same transaction; a write to a ring list, or to the
 * zone of the appliance, marks the schedules that depend on it as dirty.
 */
export function withReplanning(bound: readonly BoundHooks[], planner: Planner): readonly BoundHooks[] {
  return bound.map(([resource, hooks]) => {
    const follow = replanHookFor(resource, planner);
    if (!follow) return [resource, hooks];
    const afterWrite: ResourceHooks["afterWrite"] = (change, tx, by) => {
      hooks.afterWrite?.(change, tx, by);
      follow(change, tx);
    };
    return [resource, { ...hooks, afterWrite }];
  });
}

type ReplanHook = (change: RowMutation, tx: Transaction) => void;

function replanHookFor(resource: AnyResource, planner: Planner): ReplanHook | null {
  const kinds = Object.entries(RESOURCE_BY_OWNER_KIND) as [OwnerKind, AnyResource][];
  const kind = kinds.find(([, owner]) => owner.name === resource.name)?.[0];
  if (kind) {
    return ({ op, before, after, given }, tx) => {
      const id = (after ?? before)?.id;
      if (!id) return;
      // No field was given: a bulk change updated the schedule, too many to replan within the write.
      if (op === "update" && given.size === 0) planner.markDirty(tx, [id]);
      else planner.replan(tx, kind, id, op === "delete");
    };
  }
  if (resource.name === ringLists.name) {
    return ({ after }, tx) => {
      if (after) planner.markDirty(tx, scheduleIdsOf(tx, after));
    };
  }
  if (resource.name === endpoints.name) return (_change, tx) => planner.revalidate(tx);
  return null;
}

function scheduleIdsOf(tx: Transaction, { pk }: RowBase): string[] {
  const sql = `SELECT s.id FROM bell_schedules__ring_list_ids l JOIN bell_schedules s ON s.pk = l.owner WHERE l.target = ?`;
  return tx.all<{ id: string }>(sql, pk).map(({ id }) => id);
}
