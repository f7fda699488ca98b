import type { Catalogue } from "../../src/schema/catalogue.ts";
import {
  type ApplyResult,
  type Collection,
  type KeyPart,
  type RowBody,
  runProgram,
  type ScanRange,
  type StoreOperation,
  type TransactionProgram,
} from "../../src/sync/storage/transaction-program.ts";
import type { ExecutedOperation } from "./machine.ts";

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
  all: Map<string, RowBody>;
  /** How many rows refer to a row. */
  held: Map<string, number>;
  /** Who has a name. */
  names: Map<string, string>;
}

/** A database in memory: what it does is there at once, or not at all. */
export interface MemoryStore {
  perform<T>(work: () => TransactionProgram<T>, performed?: ExecutedOperation[]): T;
  copy(): MemoryStore;
  /** The product's rows, by `type/id`. */
  readonly rows: ReadonlyMap<string, RowBody>;
}

function ranked(a: unknown, b: unknown): number {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return (a as KeyPart) < (b as KeyPart) ? -1 : 1;
}

/** Compares the first columns of a record with as many values. */
function compare(columns: readonly string[], record: Record, values: readonly unknown[]): number {
  for (let at = 0; at < values.length; at += 1) {
    const order = ranked(record[columns[at] as string], values[at]);
    if (order !== 0) return order;
  }
  return 0;
}

function keyText(parts: readonly unknown[]): string {
  return parts.length === 1 ? String(parts[0]) : parts.join("\u0000");
}

/** What matters of a resource's fields. */
interface Fields {
  refs: readonly { name: string; to: string; isList: boolean }[];
  isNamed: boolean;
}

function readFields(catalogue: Catalogue, type: string): Fields {
  const all = Object.entries(catalogue.byName(type).fields);
  const refs = all.flatMap(([name, spec]) =>
    spec.kind === "ref" || spec.kind === "many" ? [{ name, to: spec.to, isList: spec.kind === "many" }] : [],
  );
  const { name } = catalogue.byName(type).fields;
  return { refs, isNamed: name?.kind === "text" && name.unique === true };
}

/** Makes an empty one, or one of copied parts. */
export function createMemoryStore(
  catalogue: Catalogue,
  tables = new Map<string, Table>(),
  rows: Rows = { all: new Map(), held: new Map(), names: new Map() },
): MemoryStore {
  let undo: (() => void)[] = [];
  const fields = new Map<string, Fields>();

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

  /** How many records stand before these values; with `past`, also those that stand at them. */
  function place({ columns, records }: Order, values: readonly unknown[], past = false): number {
    let [low, high] = [0, records.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const order = compare(columns, records[middle] as Record, values);
      if (order < 0 || (past && order === 0)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function placeOf(order: Order, record: Record): number {
    return place(
      order,
      order.columns.map((column) => record[column]),
    );
  }

  function remove(table: Table, key: string): void {
    const before = table.byKey.get(key);
    if (!before) return;
    table.byKey.delete(key);
    for (const order of table.orders.values()) order.records.splice(placeOf(order, before), 1);
    undo.push(() => insert(table, key, before));
  }

  function insert(table: Table, key: string, record: Record): void {
    table.byKey.set(key, record);
    for (const order of table.orders.values()) order.records.splice(placeOf(order, record), 0, record);
    undo.push(() => remove(table, key));
  }

  function replace(table: Table, key: string, before: Record, record: Record): void {
    table.byKey.set(key, record);
    for (const order of table.orders.values()) {
      const { columns, records } = order;
      const [from, isSame] = [placeOf(order, before), columns.every((column) => record[column] === before[column])];
      if (isSame) records[from] = record;
      else {
        records.splice(from, 1);
        records.splice(placeOf(order, record), 0, record);
      }
    }
    undo.push(() => replace(table, key, record, before));
  }

  function scan(table: Table, { by = "", where = [], after, upTo, limit, newestFirst }: ScanRange): Record[] {
    const order = table.orders.get(by) as Order;
    const { records } = order;
    const from = after === undefined ? place(order, where) : place(order, [...where, after], true);
    const to = upTo === undefined ? place(order, where, true) : place(order, [...where, upTo], true);
    if (newestFirst) return records.slice(Math.max(from, limit === undefined ? 0 : to - limit), to).reverse();
    return records.slice(from, limit === undefined ? to : Math.min(to, from + limit));
  }

  function refsOf(type: string, body: RowBody | null): string[] {
    if (!body) return [];
    return fieldsOf(type).refs.flatMap(({ name, to, isList }) => {
      if (isList) return ((body[name] ?? []) as string[]).map((id) => `${to}/${id}`);
      return body[name] ? [`${to}/${body[name]}`] : [];
    });
  }

  function nameOf(type: string, body: RowBody | null): string | null {
    return body && fieldsOf(type).isNamed ? `${type}/${String(body.name).toLowerCase()}` : null;
  }

  function fieldsOf(type: string): Fields {
    const found = fields.get(type) ?? readFields(catalogue, type);
    fields.set(type, found);
    return found;
  }

  function apply(type: string, id: string, body: RowBody | null): ApplyResult {
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

  function set(type: string, id: string, before: RowBody | null, body: RowBody | null): void {
    for (const ref of refsOf(type, before)) rows.held.set(ref, (rows.held.get(ref) ?? 0) - 1);
    for (const ref of refsOf(type, body)) rows.held.set(ref, (rows.held.get(ref) ?? 0) + 1);
    const [old, now] = [nameOf(type, before), nameOf(type, body)];
    if (old) rows.names.delete(old);
    if (now) rows.names.set(now, id);
    if (body) rows.all.set(`${type}/${id}`, body);
    else rows.all.delete(`${type}/${id}`);
  }

  function answer(statement: StoreOperation): unknown {
    switch (statement.do) {
      case "row":
        return rows.all.get(`${statement.type}/${statement.id}`) ?? null;
      case "judge":
        return null;
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
      case "referring": {
        const key = `${statement.type}/${statement.id}`;
        const all = [...rows.all].flatMap(([of, body]) => {
          const [type = "", id = ""] = of.split("/");
          return refsOf(type, body).includes(key) ? [{ type, id }] : [];
        });
        return { rows: all, next: null };
      }
      case "apply":
        return apply(statement.type, statement.id, statement.body);
      case "applyAll": {
        const done = undo.length;
        if (statement.rows.every(({ type, id, body }) => apply(type, id, body) === "done")) return true;
        for (const step of undo.splice(done).reverse()) step();
        return false;
      }
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
        const { of, record } = statement as { of: Collection<never>; record: Record };
        const [table, key] = [tableOf(of), keyText(of.key.map((column) => record[column]))];
        const before = table.byKey.get(key);
        return before ? replace(table, key, before, record) : insert(table, key, record);
      }
    }
  }

  return {
    rows: rows.all,
    perform(work, performed) {
      undo = [];
      try {
        if (!performed) return runProgram(work(), answer);
        return runProgram(work(), (statement) => {
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
