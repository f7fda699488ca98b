import { type Clock, nextTurn } from "../../base/clock.ts";
import { newId } from "../../base/ids.ts";
import endpoints from "../../resources/devices/endpoints.ts";
import { type Catalogue, tableOf } from "../../schema/catalogue.ts";
import type { Reader, RoomTable, Store, Transaction } from "../../store/store.ts";
import { bodyOf, travels } from "../bodies.ts";
import { overlaid } from "../merge.ts";
import type { ReplicatedTypes } from "../replicated-types.ts";
import { linkState } from "../site/link-state.ts";
import { recordLocalWrite } from "../site/local-writes.ts";
import { beginTelling } from "../site/own-state.ts";
import { EDITS } from "../site/tables.ts";
import type { SqliteWork } from "../sqlite-work.ts";
import { type Body, scan, type Work } from "../work.ts";
import { alignAdministrators, alignOnly, alignPeople, type EnrolMode, type Ground } from "./ground.ts";
import { stepAside } from "./stepping-aside.ts";

/** How far the work is, as number 0; then lists of the organisation that are to be gone through. And ids that both sides have. */
export const GROUND_TABLES: readonly RoomTable[] = [
  {
    name: "repl_ground",
    sql: "CREATE TABLE IF NOT EXISTS repl_ground (at INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;",
  },
  {
    name: "repl_common",
    sql: "CREATE TABLE IF NOT EXISTS repl_common (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;",
  },
];

/** What bringing an appliance into an organisation needs. */
export interface GroundingNeeds {
  store: Store;
  catalogue: Catalogue;
  clock: Clock;
  types: ReplicatedTypes;
  work: Pick<SqliteWork, "within">;
}

/** The way of an appliance's rows into an organisation, in slices, however often the process ends meanwhile. */
export interface Grounding {
  /** Some of it is still to be done; costs nothing. */
  isOpen(): boolean;
  /** Keeps what is to be done; the last step of an enrolment that was not there before. `first` belongs to it. */
  keep(ground: Ground, mode: EnrolMode, first: (tx: Transaction) => void): Promise<void>;
  /** Does it; true when all of it is done, false when it was stopped. */
  run(): Promise<boolean>;
  /** Forgets it. */
  forget(tx: Transaction): void;
  stop(): void;
}

interface Job {
  mode: EnrolMode;
  /** The kind of rows that is gone through, and the internal key up to which it was. */
  kind: number;
  after: number;
  /** Up to where changes were looked at. */
  seen: number;
}

type Chunk = Partial<Pick<Ground, "people" | "administrators">>;

/** Longest work of one transaction. @source interfaces.md, Writing and reading */
const SLICE_MS = 4;
/** Lines of a list that are gone through in one transaction. own choice: some ms */
const LINES = 150;
/** Parts of lists that are kept in one transaction. */
const PARTS = 20;
const ROWS = 20;
const CHANGES = 50;

/** Makes it; what an earlier run left is open at once. */
export function createGrounding(needs: GroundingNeeds): Grounding {
  const { store, catalogue, clock, types, work } = needs;
  const kinds = [...types.fromCloud].sort((a, b) => types.rankOf(a) - types.rankOf(b));
  let isOpen = jobIn(store) !== null;
  let isStopped = false;

  /** True when nothing is left. */
  function slice(tx: Transaction): boolean {
    const job = jobIn(tx);
    if (!job) return true;
    const chunk = tx.one<{ at: number; body: string }>(
      "SELECT at, body FROM repl_ground WHERE at > 0 ORDER BY at LIMIT 1",
    );
    if (chunk) {
      align(tx, JSON.parse(chunk.body) as Chunk);
      tx.run("DELETE FROM repl_ground WHERE at = ?", chunk.at);
      return false;
    }
    const until = clock.monotonicMs() + SLICE_MS;
    const isOver = work.within(
      tx,
      rowsOf(tx, job, () => clock.monotonicMs() > until),
    );
    if (isOver) forget(tx);
    else keepJob(tx, job);
    if (isOver) isOpen = false;
    return isOver;
  }

  function align(tx: Transaction, { people = [], administrators = [] }: Chunk): void {
    keepCommon(tx, alignPeople(tx, people));
    const known = administrators.filter(([, userId]) => isCommon(tx, userId));
    keepCommon(tx, alignAdministrators(tx, known));
  }

  /** What was changed of rows that were gone through comes first, so that what follows refers to nothing that is unsent. */
  function* rowsOf(tx: Transaction, job: Job, isLate: () => boolean): Work<boolean> {
    if (!(yield* lateOnes(tx, job, isLate))) return false;
    for (let kind = kinds[job.kind]; kind !== undefined; kind = kinds[job.kind]) {
      const resource = catalogue.byName(kind);
      const rows = tx.all<{ pk: number; id: string }>(
        `SELECT pk, id FROM ${tableOf(resource)} WHERE pk > ? ORDER BY pk LIMIT ${ROWS}`,
        job.after,
      );
      for (const { pk, id } of rows) {
        yield* one(tx, kind, id, job);
        job.after = pk;
        if (isLate()) return false;
      }
      if (rows.length === ROWS) continue;
      job.kind += 1;
      job.after = 0;
    }
    if (job.mode === "join") yield* sendSelf(tx, (yield* linkState()).endpoint);
    yield* beginTelling();
    return true;
  }

  function* one(tx: Transaction, type: string, id: string, { mode }: Job): Work<void> {
    if (isCommon(tx, id)) return;
    if (mode === "join") stepAside(tx, catalogue.byName(type), id, clock.now());
    else yield* send(tx, type, id);
  }

  /** False when time was over before all changes were looked at. */
  function* lateOnes(tx: Transaction, job: Job, isLate: () => boolean): Work<boolean> {
    for (;;) {
      const found = tx.all<{ seq: number; type: string; id: string }>(
        `SELECT seq, type, row_id AS id FROM changes WHERE seq > ? ORDER BY seq LIMIT ${CHANGES}`,
        job.seen,
      );
      const passed = found.filter(({ type, id }) => isPassed(tx, type, id, job));
      for (const { type, id } of passed.sort((a, b) => types.rankOf(a.type) - types.rankOf(b.type))) {
        if (job.mode === "adopt" && !isCommon(tx, id)) yield* withParents(tx, type, id);
        else if (tx.get(catalogue.byName(type), id)) yield* one(tx, type, id, job);
      }
      job.seen = found.at(-1)?.seq ?? job.seen;
      if (found.length < CHANGES) return true;
      if (isLate()) return false;
    }
  }

  function isPassed(tx: Transaction, type: string, id: string, { kind, after }: Job): boolean {
    const at = kinds.indexOf(type);
    if (at === -1 || at > kind) return false;
    if (at < kind) return true;
    const row = tx.one<{ pk: number }>(`SELECT pk FROM ${tableOf(catalogue.byName(type))} WHERE id = ?`, id);
    return row === null || row.pk <= after;
  }

  /** What a row refers to may have been made just now, too. */
  function* withParents(tx: Transaction, type: string, id: string, depth = 0): Work<void> {
    const resource = catalogue.byName(type);
    const row = tx.get(resource, id) as Body | null;
    for (const [name, spec] of row && depth < MOST_DEEP ? Object.entries(resource.fields) : []) {
      if (spec.kind !== "ref" && spec.kind !== "many") continue;
      if (!kinds.includes(spec.to)) continue;
      for (const other of [row?.[name] ?? []].flat() as string[]) {
        if (isCommon(tx, other) || (yield* sent(spec.to, other))) continue;
        yield* withParents(tx, spec.to, other, depth + 1);
      }
    }
    yield* send(tx, type, id);
  }

  /** Sends what the row is otherwise than it was sent. */
  function* send(tx: Transaction, type: string, id: string): Work<void> {
    const resource = catalogue.byName(type);
    const row = tx.get(resource, id) as Body | null;
    if (row && !travels(resource, row)) return;
    yield* sendBody(type, id, row && bodyOf(resource, row));
  }

  /** Who it is, without its site, which it keeps to itself: the organisation would refuse a row that names it. */
  function* sendSelf(tx: Transaction, id: string): Work<void> {
    const row = tx.get(endpoints, id) as Body | null;
    if (!row) return;
    const { siteId: _, ...body } = bodyOf(endpoints, row);
    yield* sendBody(endpoints.name, id, body);
  }

  function* sendBody(type: string, id: string, after: Body | null): Work<void> {
    const before = yield* sent(type, id);
    if (!before && !after) return;
    yield* recordLocalWrite({ before, after, type, id, actor: "enrolment", at: clock.now(), newId }, types);
  }

  function* sent(type: string, id: string): Work<Body | null> {
    const edits = yield* scan(EDITS, { by: "row", where: [type, id] });
    const inOrder = edits.sort((a, b) => a.oseq - b.oseq);
    return inOrder.reduce<Body | null>((body, { edit }) => overlaid(body, edit), null);
  }

  function forget(tx: Transaction): void {
    for (const { name } of GROUND_TABLES) tx.run(`DELETE FROM ${name}`);
  }

  return {
    isOpen: () => isOpen,
    forget,
    async keep(ground, mode, first) {
      await store.write(forget);
      const parts = partsOf(ground);
      for (let at = 0; at < parts.length; at += PARTS) {
        await store.write((tx) => {
          for (const [nth, part] of parts.slice(at, at + PARTS).entries())
            tx.run("INSERT INTO repl_ground VALUES (?, ?)", at + nth + 1, JSON.stringify(part));
        });
        await nextTurn(clock);
      }
      await store.write((tx) => {
        first(tx);
        keepCommon(tx, alignOnly(tx, ground));
        const seen = tx.one<{ seq: number | null }>("SELECT max(seq) AS seq FROM changes")?.seq ?? 0;
        keepJob(tx, { mode, kind: 0, after: 0, seen });
      });
      isOpen = true;
    },
    async run() {
      while (!isStopped) {
        if (await store.write(slice)) return true;
        await nextTurn(clock);
      }
      return false;
    },
    stop() {
      isStopped = true;
    },
  };
}

/** own choice: what refers to what refers to what was made within one slice */
const MOST_DEEP = 5;

function jobIn(reader: Pick<Reader, "one">): Job | null {
  const found = reader.one<{ body: string }>("SELECT body FROM repl_ground WHERE at = 0");
  return found && (JSON.parse(found.body) as Job);
}

function keepJob(tx: Transaction, job: Job): void {
  tx.run("INSERT OR REPLACE INTO repl_ground VALUES (0, ?)", JSON.stringify(job));
}

function keepCommon(tx: Transaction, ids: readonly string[]): void {
  for (const id of ids) tx.run("INSERT OR IGNORE INTO repl_common VALUES (?)", id);
}

function isCommon(reader: Pick<Reader, "one">, id: string): boolean {
  return reader.one("SELECT 1 FROM repl_common WHERE id = ?", id) !== null;
}

function partsOf({ people, administrators }: Ground): Chunk[] {
  const inParts = <T>(lines: readonly T[]): T[][] =>
    Array.from({ length: Math.ceil(lines.length / LINES) }, (_, at) => lines.slice(at * LINES, (at + 1) * LINES));
  return [
    ...inParts(people).map((some) => ({ people: some })),
    ...inParts(administrators).map((some) => ({ administrators: some })),
  ];
}
