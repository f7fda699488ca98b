import { createReadStream } from "node:fs";
import type { Clock } from "../lib/clock.ts";
import { CallerError, type FieldError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import bulkUploads from "../resources/uploads/bulk-uploads.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { StoredFile } from "../schema/field.ts";
import type { RowBase, RowOf } from "../schema/resource.ts";
import type { ActorContext, StagedBatch, Store, Transaction } from "../store/store.ts";
import { BELL_SHORTHAND } from "./bell-shorthand.ts";
import { MalformedTableError, readDelimitedRows, type TableLine } from "./delimited-file.ts";
import { createNameLookup } from "./name-lookup.ts";
import { parseHeader, type RowParser } from "./table-columns.ts";
import { detectTableFormat } from "./table-format.ts";
import type { UploadType } from "./upload-types.ts";

export type BulkUpload = RowOf<typeof bulkUploads>;

export interface BulkUploadRunDeps {
  store: Store;
  catalogue: Catalogue;
  clock: Clock;
  signal: AbortSignal;
  /** Actor that updates the upload's own row. */
  system: ActorContext;
}

/** One run of an upload. */
export interface BulkUploadRun {
  upload: BulkUpload;
  type: UploadType;
  by: ActorContext;
  /** False: dry run. */
  commits: boolean;
}

/** Longest transaction. @source docs/decisions/0017-store.md */
const TRANSACTION_MS = 4;
/** Lines read ahead of a transaction. @source docs/decisions/0540-importers.md, Bulk uploads */
const READ_AHEAD_LINES = 200;
/** Progress is written in steps of this size, since each write is an audit entry and a change event. @source docs/decisions/0540-importers.md, Bulk uploads */
const STEP_PERCENT = 5;
const MAX_RESPONSE_LENGTH = 10_000;

const ADD_LOG = `INSERT INTO bulk_upload_logs
  (id, created_at, updated_at, bulk_upload_pk, line, resource_created, resource_name, resource_response, errors, resource_id)
  VALUES (uuid7(), ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** The upload was deleted while it was being read. */
class UploadCancelled extends CallerError {}

interface Counts {
  lines: number;
  errors: number;
  percentage: number;
}

/**
 * Reads an upload's file and creates its rows in a batch, each validated like a POST: all rows become visible together, or none
 * if a line is invalid, the run is a dry run, or the upload was deleted. Every line writes a log; the upload's row has the
 * result. Never throws for errors in the file.
 */
export async function runBulkUpload(deps: BulkUploadRunDeps, run: BulkUploadRun): Promise<void> {
  const { store, clock, system } = deps;
  const { id } = run.upload;
  const batch = await store.openBatch(id, [run.type.resource]);
  const counts: Counts = { lines: 0, errors: 0, percentage: 0 };
  const finish = (status: BulkUpload["status"]) => (tx: Transaction) => {
    if (!tx.get(bulkUploads, id)) return;
    const figures = { lineCount: counts.lines, errorCount: counts.errors, percentage: counts.percentage };
    tx.update(bulkUploads, id, {}, system, { status, endedAt: clock.now(), ...figures });
  };
  try {
    await readLines(deps, run, batch, counts);
    counts.percentage = 100;
    const good = counts.errors === 0;
    if (!good || !run.commits) return await batch.discard(finish(good ? "success" : "ERROR"));
    await batch.publish(finish("COMPLETE"));
  } catch (error) {
    if (deps.signal.aborted) return;
    await batch.discard(finish("ERROR"));
    if (error instanceof UploadCancelled) return;
    throw error;
  }
  await store.announceBatch(id, run.by, deps.signal);
}

async function readLines(
  deps: BulkUploadRunDeps,
  run: BulkUploadRun,
  batch: StagedBatch,
  counts: Counts,
): Promise<void> {
  const { store } = deps;
  const { upload } = run;
  const path = store.files.pathOf({ sha256: upload.fileId as string } as StoredFile);
  const open = async () => createReadStream(path);
  const usual = upload.contentType === "text/csv" ? "comma" : "tab";
  const format = await detectTableFormat(open, {}, usual, deps.clock);
  const lines = readDelimitedRows(await open(), format, deps.clock);
  const log = (line: number, error: unknown) =>
    batch.write((tx) => {
      counts.errors++;
      addLineLog(deps, tx, upload, { line, name: null, id: null, faults: lineErrors(error) });
    });
  const malformed = ({ line, fault }: TableLine) => new MalformedTableError(line, fault?.message ?? "");
  let head: RowParser | null = null;
  let waiting: TableLine[] = [];
  const flush = async (): Promise<void> => {
    for (let at = 0; at < waiting.length; )
      at += await writeSlice(deps, run, batch, head as RowParser, waiting.slice(at), counts);
    waiting = [];
  };
  try {
    for await (const line of lines) {
      if (line.fault !== null) {
        if (head === null) throw malformed(line);
        await flush();
        await log(line.line, malformed(line));
      } else if (head === null) {
        head = parseHeader(line.cells, run.type.fields, BELL_SHORTHAND[run.type.resource.name]);
      } else waiting.push(line);
      if (waiting.length === READ_AHEAD_LINES) await flush();
    }
    await flush();
    if (head === null)
      throw new MalformedTableError(1, sentence("upload.the-file-is-empty-its-first-line-must-name-the"));
    if (counts.lines === 0 && counts.errors === 0)
      throw new MalformedTableError(2, sentence("upload.the-file-must-have-at-least-one-line-after-the"));
  } catch (error) {
    if (error instanceof UploadCancelled || !(error instanceof CallerError)) throw error;
    if (error instanceof MalformedTableError) await flush();
    await log(error instanceof MalformedTableError ? error.line : 1, error);
  }
}

/** Creates rows of as many lines as the time slice allows; returns the number of lines. */
async function writeSlice(
  deps: BulkUploadRunDeps,
  run: BulkUploadRun,
  batch: StagedBatch,
  head: RowParser,
  lines: readonly TableLine[],
  counts: Counts,
): Promise<number> {
  const { clock, catalogue, system } = deps;
  const { upload, by } = run;
  const before = { ...counts };
  deps.signal.throwIfAborted();
  return batch.write((tx) => {
    Object.assign(counts, before);
    if (!tx.get(bulkUploads, upload.id))
      throw new UploadCancelled("not-found", sentence("upload.the-upload-was-deleted"));
    const began = clock.monotonicMs();
    const names = createNameLookup(tx, catalogue, by.scope);
    let done = 0;
    for (const line of lines) {
      createRow({ deps, run, head, names, tx, counts }, line);
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
  deps: BulkUploadRunDeps;
  run: BulkUploadRun;
  head: RowParser;
  names: ReturnType<typeof createNameLookup>;
  tx: Transaction;
  counts: Counts;
}

function createRow({ deps, run, head, names, tx, counts }: RowContext, { line, cells }: TableLine): void {
  const { resource, fixed, system } = run.type;
  counts.lines++;
  let name: string | null = null;
  try {
    const input = { ...head.parse(cells, names), ...fixed };
    name = nameOf(input);
    const row: RowBase = tx.create(resource, input, run.by, system as never);
    addLineLog(deps, tx, run.upload, { line, name: nameOf(row as never), id: row.id, faults: [] });
  } catch (error) {
    counts.errors++;
    addLineLog(deps, tx, run.upload, { line, name, id: null, faults: lineErrors(error) });
  }
}

function nameOf(row: Readonly<Record<string, unknown>>): string | null {
  const name = row.name ?? row.deviceIdentifier ?? row.subject ?? null;
  return typeof name === "string" ? name.slice(0, 255) : null;
}

/** Errors of a line; rethrows errors that the line did not cause. */
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
  result: LineResult,
): void {
  const now = clock.now();
  const { line, name, id, faults } = result;
  const response = faults.length === 0 ? sentence("upload.created") : faults.map(({ message }) => message).join(" ");
  const values = [now, now, pk, line, id === null ? 0 : 1, name, response.slice(0, MAX_RESPONSE_LENGTH)];
  tx.run(ADD_LOG, ...values, JSON.stringify(faults), id);
}
