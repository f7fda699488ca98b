import type { StoreReader } from "../store/store.ts";
import type { CompiledPatterns } from "./device-filter.ts";
import { type CompiledGroup, compileGroup, type GroupDefinition } from "./group-definition.ts";
import { type GroupDefinitionRow, toGroupDefinition } from "./group-scan.ts";

/** Selects the groups of one resource. */
export interface GroupSource {
  /** Name of the resource. */
  resource: string;
  /** `SELECT … FROM … g WHERE` that returns a `GroupDefinitionRow` and its `pk`. */
  select: string;
}

const RULE_COLUMNS = "g.pk, g.id, g.filter_type, g.logical_expression, g.filters, g.addition_ids, g.exclusion_ids";

/** Device groups, which may be based on each other. */
export const DEVICE_GROUPS: GroupSource = {
  resource: "device-groups",
  select: `SELECT ${RULE_COLUMNS}, (SELECT json_group_array(b.id) FROM device_groups__base_device_group_ids l
    JOIN device_groups b ON b.pk = l.target WHERE l.owner = g.pk) AS bases, g.lost_references FROM device_groups g WHERE`,
};

/** Activation groups: which appliance activates which devices. */
export const ACTIVATION_GROUPS: GroupSource = {
  resource: "activation-groups",
  select: `SELECT ${RULE_COLUMNS}, NULL AS bases, 0 AS lost_references FROM activation_groups g WHERE`,
};

/** All groups of one type, compiled. */
export interface StoredGroups {
  /**
   * Reads groups that are not known yet until `isOver` returns true; returns true once all are known. Calls `changed` with the
   * id (lower case) of each group whose members must be computed again.
   */
  loadChanges(isOver: () => boolean, changed: (groupId: string) => void): boolean;
  /** Call when a group was written or deleted. */
  invalidate(groupId: string): void;
  /** Call when any group may have been added. */
  invalidateAll(): void;
  compiled: ReadonlyMap<string, CompiledGroup>;
}

/** Groups per read; each may name 40,000 devices. */
const READ_CHUNK_SIZE = 10;

/** Reads nothing yet. */
export function createStoredGroups(reader: StoreReader, { select }: GroupSource): StoredGroups {
  const definitions = new Map<string, GroupDefinition>();
  const compiled = new Map<string, CompiledGroup>();
  const invalidated = new Set<string>();
  const patterns: CompiledPatterns = new Map();
  /** Internal key up to which groups were read; null once all were. */
  let readUpTo: number | null = 0;

  function define(id: string, line: GroupDefinitionRow | null): void {
    definitions.delete(id);
    compiled.delete(id);
    if (line === null) return;
    const definition = toGroupDefinition(line);
    definitions.set(id, definition);
    compiled.set(id, compileGroup(definition, compiled, patterns));
  }

  /** The group and all groups based on it, directly or indirectly. */
  function dependents(id: string): Set<string> {
    const found = new Set([id]);
    for (let before = 0; before < found.size; ) {
      before = found.size;
      for (const [other, { baseDeviceGroupIds }] of definitions) {
        if (!found.has(other) && baseDeviceGroupIds.some((base) => found.has(base))) found.add(other);
      }
    }
    return found;
  }

  return {
    compiled,
    loadChanges(isOver, changed) {
      while (readUpTo !== null) {
        const sql = `${select} g.pk > ? ORDER BY g.pk LIMIT ${READ_CHUNK_SIZE}`;
        const lines = reader.all<GroupDefinitionRow & { pk: number }>(sql, readUpTo);
        for (const line of lines) define(line.id, line);
        readUpTo = lines.length < READ_CHUNK_SIZE ? null : (lines.at(-1)?.pk ?? null);
        if (isOver() && readUpTo !== null) return false;
      }
      for (const id of invalidated) {
        invalidated.delete(id);
        define(id, reader.one<GroupDefinitionRow>(`${select} g.id = ?`, id));
        for (const dependent of dependents(id)) changed(dependent);
        if (isOver() && invalidated.size > 0) return false;
      }
      return true;
    },
    invalidate: (groupId) => void invalidated.add(groupId),
    invalidateAll() {
      readUpTo = 0;
    },
  };
}
