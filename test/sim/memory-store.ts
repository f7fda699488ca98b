import {
  type Applied,
  type Body,
  type Collection,
  type KeyPart,
  perform,
  type Range,
  type Statement,
  type Work,
} from "../../src/replication/work.ts";
import type { Catalogue } from "../../src/schema/catalogue.ts";
import type { Performed } from "./machine.ts";

type Record = Readonly<{ [column: string]: unknown }>;

interface Order {
  columns: readonly string[];
  records: Record[];
}

interface Table {
  byKey: Map<string, Record>;
  orders: Map<string, Order>;
}

/** The rows of the product, with its references and unique names. */
interface Rows {
  all: Map<string, Body>;
  /** How many rows refer to a row. */
  held: Map<string, number>;
  /** Who has a name. */
  names: Map<string, string>;
}

/** A database in memory: what it does is there at once, or not at all. */
export interface MemoryStore {
  perform<T>(work: () => Work<T>, performed?: Performed[]): T;
  copy(): MemoryStore;
  /** The product's rows, by `type/id`. */
  readonly rows: ReadonlyMap<string, Body>;
}

function ranked(a: unknown, b: unknown): number {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return (a as KeyPart) < (b as KeyPart) ? -1 : 1;
}

function compare(columns: readonly string[], a: Record, b: Record): number {
  for (const column of columns) {
    const order = ranked(a[column], b[column]);
    if (order !== 0) return order;
  }
  return 0;
}

function keyText(parts: readonly unknown[]): string {
  return parts.join("\u0000");
}

/** Makes an empty one, or one of copied parts. */
export function createMemoryStore(
  catalogue: Catalogue,
  tables = new Map<string, Table>(),
  rows: Rows = { all: new Map(), held: new Map(), names: new Map() },
): MemoryStore {
  let undo: (() => void)[] = [];

  function tableOf({ name, key, indexes }: Collection<never>): Table {
    const found = tables.get(name);
    if (found) return found;
    const orders = new Map<string, Order>([["", { columns: key, records: [] }]]);
    for (const [index, columns] of Object.entries(indexes)) {
      orders.set(index, { columns: [...new Set([...columns, ...key])], records: [] });
    }
    const made = { byKey: new Map(), orders };
    tables.set(name, made);
    return made;
  }

  function place({ columns, records }: Order, record: Record): number {
    let [low, high] = [0, records.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compare(columns, records[middle] as Record, record) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function remove(table: Table, key: string): void {
    const before = table.byKey.get(key);
    if (!before) return;
    table.byKey.delete(key);
    for (const order of table.orders.values()) order.records.splice(place(order, before), 1);
    undo.push(() => insert(table, key, before));
  }

  function insert(table: Table, key: string, record: Record): void {
    table.byKey.set(key, record);
    for (const order of table.orders.values()) order.records.splice(place(order, record), 0, record);
    undo.push(() => remove(table, key));
  }

  function scan(table: Table, { by = "", where = [], after, upTo, limit, newestFirst }: Range): Record[] {
    const { columns, records } = table.orders.get(by) as Order;
    const next = columns[where.length] as string;
    const isIn = (record: Record): boolean => where.every((value, at) => record[columns[at] as string] === value);
    const probe = Object.fromEntries(where.map((value, at) => [columns[at], value]));
    const bounds: Record = after === undefined ? probe : { ...probe, [next]: after };
    let at = place({ columns: columns.slice(0, Object.keys(bounds).length), records }, bounds);
    if (after !== undefined) while (at < records.length && isAt(records[at] as Record, bounds, columns)) at += 1;
    const found: Record[] = [];
    for (; at < records.length; at += 1) {
      const record = records[at] as Record;
      if (!isIn(record) || (upTo !== undefined && ranked(record[next], upTo) > 0)) break;
      found.push(record);
      if (!newestFirst && found.length === limit) break;
    }
    return newestFirst ? found.reverse().slice(0, limit) : found;
  }

  function isAt(record: Record, bounds: Record, columns: readonly string[]): boolean {
    return compare(columns.slice(0, Object.keys(bounds).length), record, bounds) === 0;
  }

  function refsOf(type: string, body: Body | null): string[] {
    if (!body) return [];
    return Object.entries(catalogue.byName(type).fields).flatMap(([name, spec]) => {
      if (spec.kind === "ref") return body[name] ? [`${spec.to}/${body[name]}`] : [];
      return spec.kind === "many" ? ((body[name] ?? []) as string[]).map((id) => `${spec.to}/${id}`) : [];
    });
  }

  function nameOf(type: string, body: Body | null): string | null {
    const { name } = catalogue.byName(type).fields;
    return body && name?.kind === "text" && name.unique ? `${type}/${String(body.name).toLowerCase()}` : null;
  }

  function apply(type: string, id: string, body: Body | null): Applied {
    const key = `${type}/${id}`;
    const before = rows.all.get(key) ?? null;
    if (refsOf(type, body).some((ref) => !rows.all.has(ref))) return "wait";
    if (!body && (rows.held.get(key) ?? 0) > 0) return "wait";
    const name = nameOf(type, body);
    if (name && (rows.names.get(name) ?? id) !== id) return "wait";
    set(type, id, before, body);
    undo.push(() => set(type, id, body, before));
    return "done";
  }

  function set(type: string, id: string, before: Body | null, body: Body | null): void {
    for (const ref of refsOf(type, before)) rows.held.set(ref, (rows.held.get(ref) ?? 0) - 1);
    for (const ref of refsOf(type, body)) rows.held.set(ref, (rows.held.get(ref) ?? 0) + 1);
    const [old, now] = [nameOf(type, before), nameOf(type, body)];
    if (old) rows.names.delete(old);
    if (now) rows.names.set(now, id);
    if (body) rows.all.set(`${type}/${id}`, body);
    else rows.all.delete(`${type}/${id}`);
  }

  function answer(statement: Statement): unknown {
    switch (statement.do) {
      case "row":
        return rows.all.get(`${statement.type}/${statement.id}`) ?? null;
      case "ids": {
        const { type, after, limit } = statement;
        const ids = [...rows.all.keys()].flatMap((key) =>
          key.startsWith(`${type}/`) ? [key.slice(type.length + 1)] : [],
        );
        return ids
          .filter((id) => id > (after ?? ""))
          .sort()
          .slice(0, limit);
      }
      case "apply":
        return apply(statement.type, statement.id, statement.body);
      case "get":
        return tableOf(statement.of).byKey.get(keyText(statement.key)) ?? null;
      case "scan":
        return scan(tableOf(statement.of), statement.range);
      case "drop":
        return remove(tableOf(statement.of), keyText(statement.key));
      case "clear": {
        const table = tableOf(statement.of);
        for (const key of [...table.byKey.keys()]) remove(table, key);
        return null;
      }
      case "put": {
        const { of, record } = statement;
        const key = keyText(of.key.map((column) => (record as Record)[column]));
        remove(tableOf(of), key);
        return insert(tableOf(of), key, record as Record);
      }
    }
  }

  return {
    rows: rows.all,
    perform(work, performed) {
      undo = [];
      try {
        if (!performed) return perform(work(), answer);
        return perform(work(), (statement) => {
          const answered = answer(statement);
          performed.push({ statement, answer: answered });
          return answered;
        });
      } catch (error) {
        for (const step of [...undo].reverse()) step();
        throw error;
      }
    },
    copy() {
      const copied = [...tables].map(([name, { byKey, orders }]) => {
        const same = new Map<string, Order>();
        for (const [index, { columns, records }] of orders) same.set(index, { columns, records: [...records] });
        const table: Table = { byKey: new Map(byKey), orders: same };
        return [name, table] as const;
      });
      const { all, held, names } = rows;
      return createMemoryStore(catalogue, new Map(copied), {
        all: new Map(all),
        held: new Map(held),
        names: new Map(names),
      });
    },
  };
}
