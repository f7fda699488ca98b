import type { Reader } from "../store/store.ts";
import type { Patterns } from "./device-filter.ts";
import { type CompiledGroup, compileGroup, type GroupDefinition } from "./group-definition.ts";
import { definitionOf, type GroupLine } from "./group-scan.ts";

/** Which groups: stored ones of some resource. */
export interface GroupSource {
  /** Name of the resource. */
  resource: string;
  /** `SELECT … FROM … g WHERE` that gives a `GroupLine` and its `pk`. */
  select: string;
}

const RULE = "g.pk, g.id, g.filter_type, g.logical_expression, g.filters, g.addition_ids, g.exclusion_ids";

/** Groups of devices, which may be based on each other. */
export const DEVICE_GROUPS: GroupSource = {
  resource: "device-groups",
  select: `SELECT ${RULE}, (SELECT json_group_array(b.id) FROM device_groups__base_device_group_ids l
    JOIN device_groups b ON b.pk = l.target WHERE l.owner = g.pk) AS bases FROM device_groups g WHERE`,
};

/** Groups that say which appliance activates which devices. */
export const ACTIVATION_GROUPS: GroupSource = {
  resource: "activation-groups",
  select: `SELECT ${RULE}, NULL AS bases FROM activation_groups g WHERE`,
};

/** All groups of a kind, ready to be asked. */
export interface StoredGroups {
  /**
   * Reads what is not known yet, until a moment of the clock; true once all is known. Groups whose members must be found
   * anew are told to `changed`, in lower case.
   */
  read(isOver: () => boolean, changed: (groupId: string) => void): boolean;
  /** To be called when a group was written or went. */
  touch(groupId: string): void;
  /** To be called when any may have come. */
  touchAll(): void;
  compiled: ReadonlyMap<string, CompiledGroup>;
}

/** Groups read at once; each may name 40,000 devices. */
const READ_AT_ONCE = 10;

/** Makes it; nothing is read yet. */
export function createStoredGroups(reader: Reader, { select }: GroupSource): StoredGroups {
  const definitions = new Map<string, GroupDefinition>();
  const compiled = new Map<string, CompiledGroup>();
  const touched = new Set<string>();
  const patterns: Patterns = new Map();
  /** Internal key up to which all were read; null once that is done. */
  let readUpTo: number | null = 0;

  function define(id: string, line: GroupLine | null): void {
    definitions.delete(id);
    compiled.delete(id);
    if (line === null) return;
    const definition = definitionOf(line);
    definitions.set(id, definition);
    compiled.set(id, compileGroup(definition, compiled, patterns));
  }

  /** The group and all that are based on it, directly or through others. */
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
    read(isOver, changed) {
      while (readUpTo !== null) {
        const sql = `${select} g.pk > ? ORDER BY g.pk LIMIT ${READ_AT_ONCE}`;
        const lines = reader.all<GroupLine & { pk: number }>(sql, readUpTo);
        for (const line of lines) define(line.id, line);
        readUpTo = lines.length < READ_AT_ONCE ? null : (lines.at(-1)?.pk ?? null);
        if (isOver() && readUpTo !== null) return false;
      }
      for (const id of touched) {
        touched.delete(id);
        define(id, reader.one<GroupLine>(`${select} g.id = ?`, id));
        for (const dependent of dependents(id)) changed(dependent);
        if (isOver() && touched.size > 0) return false;
      }
      return true;
    },
    touch: (groupId) => void touched.add(groupId),
    touchAll() {
      readUpTo = 0;
    },
  };
}
