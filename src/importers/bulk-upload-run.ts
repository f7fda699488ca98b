import { createReadStream } from "node:fs";
import type { Clock } from "../lib/clock.ts";
import { CallerError, type FieldError } from "../lib/errors.ts";
import bulkUploads from "../resources/uploads/bulk-uploads.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { StoredFile } from "../schema/field.ts";
import type { RowBase, RowOf } from "../schema/resource.ts";
import type { ActorContext, StagedBatch, Store, Transaction } from "../store/store.ts";
import { BELL_SHORTHAND } from "./bell-shorthand.ts";
import { MalformedTableError, readDelimitedRows, type TableLine } from "./delimited-file.ts";
import { createNameLookup } from "./name-lookup.ts";
import { parseHeader, type RowParser } from "./table-columns.ts";
import type { UploadType } from "./upload-types.ts";

/** An upload as a row. */
export type BulkUpload = RowOf<typeof bulkUploads>;

/** What reading an upload needs. */
export interface BulkUploadRunDeps {
  store: Store;
  catalogue: Catalogue;
  clock: Clock;
  signal: AbortSignal;
  /** Whoever carries the upload's own row on. */
  system: ActorContext;
}

/** One reading of an upload. */
export interface BulkUploadRun {
  upload: BulkUpload;
  type: UploadType;
  by: ActorContext;
  /** False: the rows are tried only. */
  commits: boolean;
}

/** Longest work of one transaction. @source interfaces.md, Writing and reading */
const TRANSACTION_MS = 4;
/** Bytes that are parsed at once, without a turn for others. own choice: 1 to 4 ms of work, more before it is compiled */
const READ_BYTES = 4_096;
/** Lines that are read ahead of a transaction. own choice */
const READ_AHEAD_LINES = 200;
/** The row tells its progress in steps of so much. own choice: each is an entry of the audit and of the feed */
const STEP_PERCENT = 5;
const MAX_RESPONSE_LENGTH = 10_000;

const ADD_LOG = `INSERT INTO bulk_upload_logs
  (id, created_at, updated_at, bulk_upload_pk, line, resource_created, resource_name, resource_response, errors, resource_id)
  VALUES (uuid7(), ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** The upload was deleted while it was read. */
class UploadCancelled extends CallerError {}

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
export async function runBulkUpload(needs: BulkUploadRunDeps, run: BulkUploadRun): Promise<void> {
  const { store, clock, system } = needs;
  const { id } = run.upload;
  const batch = await store.openBatch(id, [run.type.resource]);
  const counts: Counts = { lines: 0, errors: 0, percentage: 0 };
  const finish = (status: BulkUpload["status"]) => (tx: Transaction) => {
    if (!tx.get(bulkUploads, id)) return;
    const figures = { lineCount: counts.lines, errorCount: counts.errors, percentage: counts.percentage };
    tx.update(bulkUploads, id, {}, system, { status, endedAt: clock.now(), ...figures });
  };
  try {
    await readLines(needs, run, batch, counts);
    counts.percentage = 100;
    const good = counts.errors === 0;
    if (!good || !run.commits) return await batch.discard(finish(good ? "success" : "ERROR"));
    await batch.publish(finish("COMPLETE"));
  } catch (error) {
    if (needs.signal.aborted) return;
    await batch.discard(finish("ERROR"));
    if (error instanceof UploadCancelled) return;
    throw error;
  }
  await store.announceBatch(id, run.by, needs.signal);
}

async function readLines(
  needs: BulkUploadRunDeps,
  run: BulkUploadRun,
  batch: StagedBatch,
  counts: Counts,
): Promise<void> {
  const { store } = needs;
  const { upload } = run;
  const path = store.files.pathOf({ sha256: upload.fileId as string } as StoredFile);
  const lines = readDelimitedRows(
    createReadStream(path, { highWaterMark: READ_BYTES }),
    upload.contentType === "text/csv" ? "," : "\t",
  );
  const log = (line: number, error: unknown) =>
    batch.write((tx) => {
      counts.errors++;
      addLineLog(needs, tx, upload, { line, name: null, id: null, faults: lineErrors(error) });
    });
  let head: RowParser | null = null;
  let waiting: TableLine[] = [];
  const flush = async (): Promise<void> => {
    for (let at = 0; at < waiting.length; )
      at += await writeSlice(needs, run, batch, head as RowParser, waiting.slice(at), counts);
    waiting = [];
  };
  try {
    for await (const line of lines) {
      if (head === null) {
        head = parseHeader(line.cells, run.type.fields, BELL_SHORTHAND[run.type.resource.name]);
        continue;
      }
      waiting.push(line);
      if (waiting.length === READ_AHEAD_LINES) await flush();
    }
    await flush();
    if (head === null) throw new MalformedTableError(1, "The file is empty: its first line names the columns.");
    if (counts.lines === 0 && counts.errors === 0)
      throw new MalformedTableError(2, "The file has no line beside its head.");
  } catch (error) {
    if (error instanceof UploadCancelled || !(error instanceof CallerError)) throw error;
    if (error instanceof MalformedTableError) await flush();
    await log(error instanceof MalformedTableError ? error.line : 1, error);
  }
}

/** Makes rows of as many lines as time allows and returns how many. */
async function writeSlice(
  needs: BulkUploadRunDeps,
  run: BulkUploadRun,
  batch: StagedBatch,
  head: RowParser,
  lines: readonly TableLine[],
  counts: Counts,
): Promise<number> {
  const { clock, catalogue, system } = needs;
  const { upload, by } = run;
  const before = { ...counts };
  needs.signal.throwIfAborted();
  return batch.write((tx) => {
    Object.assign(counts, before);
    if (!tx.get(bulkUploads, upload.id)) throw new UploadCancelled("not-found", "The upload was deleted.");
    const began = clock.monotonicMs();
    const names = createNameLookup(tx, catalogue, by.scope);
    let done = 0;
    for (const line of lines) {
      createRow({ needs, run, head, names, tx, counts }, line);
      done++;
      if (clock.monotonicMs() - began > TRANSACTION_MS) break;
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

interface RowContext {
  needs: BulkUploadRunDeps;
  run: BulkUploadRun;
  head: RowParser;
  names: ReturnType<typeof createNameLookup>;
  tx: Transaction;
  counts: Counts;
}

function createRow({ needs, run, head, names, tx, counts }: RowContext, { line, cells }: TableLine): void {
  const { resource, fixed, system } = run.type;
  counts.lines++;
  let name: string | null = null;
  try {
    const input = { ...head.parse(cells, names), ...fixed };
    name = nameOf(input);
    const row: RowBase = tx.create(resource, input, run.by, system as never);
    addLineLog(needs, tx, run.upload, { line, name: nameOf(row as never), id: row.id, faults: [] });
  } catch (error) {
    counts.errors++;
    addLineLog(needs, tx, run.upload, { line, name, id: null, faults: lineErrors(error) });
  }
}

function nameOf(row: Readonly<Record<string, unknown>>): string | null {
  const name = row.name ?? row.deviceIdentifier ?? row.subject ?? null;
  return typeof name === "string" ? name.slice(0, 255) : null;
}

/** What a line did wrong; throws what is no fault of the line. */
function lineErrors(error: unknown): readonly FieldError[] {
  if (error instanceof CallerError) {
    return error.faults.length > 0 ? error.faults : [{ field: null, type: error.type, message: error.message }];
  }
  const {
    type,
    field = null,
    message,
  } = error as { type?: FieldError["type"]; field?: string | null; message: string };
  if (type === "conflict" || type === "limit-exceeded") return [{ field, type, message }];
  throw error;
}

interface LineResult {
  line: number;
  name: string | null;
  id: string | null;
  faults: readonly FieldError[];
}

function addLineLog(
  { clock }: Pick<BulkUploadRunDeps, "clock">,
  tx: Transaction,
  { pk }: BulkUpload,
  told: LineResult,
): void {
  const now = clock.now();
  const { line, name, id, faults } = told;
  const words = faults.length === 0 ? "Created." : faults.map(({ message }) => message).join(" ");
  const values = [now, now, pk, line, id === null ? 0 : 1, name, words.slice(0, MAX_RESPONSE_LENGTH)];
  tx.run(ADD_LOG, ...values, JSON.stringify(faults), id);
}
