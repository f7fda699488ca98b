import { createReadStream } from "node:fs";
import type { Clock } from "../base/clock.ts";
import { CallerError, type Fault } from "../base/errors.ts";
import bulkUploads from "../resources/uploads/bulk-uploads.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { StoredFile } from "../schema/field.ts";
import type { RowBase, RowOf } from "../schema/resource.ts";
import type { Batch, By, Store, Transaction } from "../store/store.ts";
import { BELL_CELLS } from "./bell-cells.ts";
import { type LineReader, readHead } from "./columns.ts";
import { createNames } from "./names.ts";
import { BrokenTable, readTable, type TableLine } from "./table-file.ts";
import type { UploadType } from "./upload-types.ts";

/** An upload as a row. */
export type BulkUpload = RowOf<typeof bulkUploads>;

/** What reading an upload needs. */
export interface RunNeeds {
  store: Store;
  catalogue: Catalogue;
  clock: Clock;
  signal: AbortSignal;
  /** Whoever carries the upload's own row on. */
  system: By;
}

/** One reading of an upload. */
export interface Run {
  upload: BulkUpload;
  type: UploadType;
  by: By;
  /** False: the rows are tried only. */
  keeps: boolean;
}

/** Longest work of one transaction. @source interfaces.md, Writing and reading */
const SLICE_MS = 4;
/** Bytes that are parsed at once, without a turn for others. own choice: 1 to 4 ms of work, more before it is compiled */
const READ_BYTES = 4_096;
/** Lines that are read ahead of a transaction. own choice */
const READ_AT_ONCE = 200;
/** The row tells its progress in steps of so much. own choice: each is an entry of the audit and of the feed */
const STEP_PERCENT = 5;
const LONGEST_RESPONSE = 10_000;

const ADD_LOG = `INSERT INTO bulk_upload_logs
  (id, created_at, updated_at, bulk_upload_pk, line, resource_created, resource_name, resource_response, errors, resource_id)
  VALUES (uuid7(), ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** The upload was deleted while it was read. */
class Cancelled extends CallerError {}

interface Counts {
  lines: number;
  errors: number;
  percentage: number;
}

/**
 * Reads an upload's file and makes its rows in a batch, each checked as a POST would: all of them come into sight
 * together, or none where a line is wrong, the run only tries, or the upload was deleted meanwhile. Every line leaves a
 * log, the upload's row says what came of it. Never throws for what is wrong in the file.
 */
export async function readUpload(needs: RunNeeds, run: Run): Promise<void> {
  const { store, clock, system } = needs;
  const { id } = run.upload;
  const batch = await store.openBatch(id, [run.type.resource]);
  const counts: Counts = { lines: 0, errors: 0, percentage: 0 };
  const settle = (status: BulkUpload["status"]) => (tx: Transaction) => {
    if (!tx.get(bulkUploads, id)) return;
    const figures = { lineCount: counts.lines, errorCount: counts.errors, percentage: counts.percentage };
    tx.update(bulkUploads, id, {}, system, { status, endedAt: clock.now(), ...figures });
  };
  try {
    await readLines(needs, run, batch, counts);
    counts.percentage = 100;
    const good = counts.errors === 0;
    if (!good || !run.keeps) return await batch.discard(settle(good ? "success" : "ERROR"));
    await batch.show(settle("COMPLETE"));
  } catch (error) {
    if (needs.signal.aborted) return;
    await batch.discard(settle("ERROR"));
    if (error instanceof Cancelled) return;
    throw error;
  }
  await store.announceBatch(id, run.by, needs.signal);
}

async function readLines(needs: RunNeeds, run: Run, batch: Batch, counts: Counts): Promise<void> {
  const { store } = needs;
  const { upload } = run;
  const path = store.files.pathOf({ sha256: upload.fileId as string } as StoredFile);
  const lines = readTable(
    createReadStream(path, { highWaterMark: READ_BYTES }),
    upload.contentType === "text/csv" ? "," : "\t",
  );
  const log = (line: number, error: unknown) =>
    batch.write((tx) => {
      counts.errors++;
      addLog(needs, tx, upload, { line, name: null, id: null, faults: faultsOf(error) });
    });
  let head: LineReader | null = null;
  let waiting: TableLine[] = [];
  const flush = async (): Promise<void> => {
    for (let at = 0; at < waiting.length; )
      at += await writeSlice(needs, run, batch, head as LineReader, waiting.slice(at), counts);
    waiting = [];
  };
  try {
    for await (const line of lines) {
      if (head === null) {
        head = readHead(line.cells, run.type.fields, BELL_CELLS[run.type.resource.name]);
        continue;
      }
      waiting.push(line);
      if (waiting.length === READ_AT_ONCE) await flush();
    }
    await flush();
    if (head === null) throw new BrokenTable(1, "The file is empty: its first line names the columns.");
    if (counts.lines === 0 && counts.errors === 0) throw new BrokenTable(2, "The file has no line beside its head.");
  } catch (error) {
    if (error instanceof Cancelled || !(error instanceof CallerError)) throw error;
    if (error instanceof BrokenTable) await flush();
    await log(error instanceof BrokenTable ? error.line : 1, error);
  }
}

/** Makes rows of as many lines as time allows and returns how many. */
async function writeSlice(
  needs: RunNeeds,
  run: Run,
  batch: Batch,
  head: LineReader,
  lines: readonly TableLine[],
  counts: Counts,
): Promise<number> {
  const { clock, catalogue, system } = needs;
  const { upload, by } = run;
  const before = { ...counts };
  needs.signal.throwIfAborted();
  return batch.write((tx) => {
    Object.assign(counts, before);
    if (!tx.get(bulkUploads, upload.id)) throw new Cancelled("not-found", "The upload was deleted.");
    const began = clock.monotonicMs();
    const names = createNames(tx, catalogue, by.scope);
    let done = 0;
    for (const line of lines) {
      makeRow({ needs, run, head, names, tx, counts }, line);
      done++;
      if (clock.monotonicMs() - began > SLICE_MS) break;
    }
    const read = lines[done - 1]?.bytes ?? 0;
    const percentage = Math.min(99, Math.floor((100 * read) / Math.max(1, upload.fileBytes ?? 1)));
    if (percentage >= counts.percentage + STEP_PERCENT) {
      counts.percentage = percentage;
      const figures = { percentage, lineCount: counts.lines, errorCount: counts.errors };
      tx.update(bulkUploads, upload.id, {}, system, figures);
    }
    return done;
  });
}

interface Making {
  needs: RunNeeds;
  run: Run;
  head: LineReader;
  names: ReturnType<typeof createNames>;
  tx: Transaction;
  counts: Counts;
}

function makeRow({ needs, run, head, names, tx, counts }: Making, { line, cells }: TableLine): void {
  const { resource, fixed, system } = run.type;
  counts.lines++;
  let name: string | null = null;
  try {
    const input = { ...head.read(cells, names), ...fixed };
    name = nameOf(input);
    const row: RowBase = tx.create(resource, input, run.by, system as never);
    addLog(needs, tx, run.upload, { line, name: nameOf(row as never), id: row.id, faults: [] });
  } catch (error) {
    counts.errors++;
    addLog(needs, tx, run.upload, { line, name, id: null, faults: faultsOf(error) });
  }
}

function nameOf(row: Readonly<Record<string, unknown>>): string | null {
  const name = row.name ?? row.deviceIdentifier ?? row.subject ?? null;
  return typeof name === "string" ? name.slice(0, 255) : null;
}

/** What a line did wrong; throws what is no fault of the line. */
function faultsOf(error: unknown): readonly Fault[] {
  if (error instanceof CallerError) {
    return error.faults.length > 0 ? error.faults : [{ field: null, type: error.type, message: error.message }];
  }
  const { type, field = null, message } = error as { type?: Fault["type"]; field?: string | null; message: string };
  if (type === "conflict" || type === "limit-exceeded") return [{ field, type, message }];
  throw error;
}

interface Told {
  line: number;
  name: string | null;
  id: string | null;
  faults: readonly Fault[];
}

function addLog({ clock }: Pick<RunNeeds, "clock">, tx: Transaction, { pk }: BulkUpload, told: Told): void {
  const now = clock.now();
  const { line, name, id, faults } = told;
  const words = faults.length === 0 ? "Created." : faults.map(({ message }) => message).join(" ");
  const values = [now, now, pk, line, id === null ? 0 : 1, name, words.slice(0, LONGEST_RESPONSE)];
  tx.run(ADD_LOG, ...values, JSON.stringify(faults), id);
}
