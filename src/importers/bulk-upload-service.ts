import type { Clock } from "../lib/clock.ts";
import { ConflictError, forbidden, notFound } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import bulkUploads from "../resources/uploads/bulk-uploads.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { Actor, ActorContext, Store, Sync, Transaction } from "../store/store.ts";
import { type BulkUpload, runBulkUpload } from "./bulk-upload-run.ts";
import type { ImportQueue } from "./import-queue.ts";
import { columnNames } from "./table-columns.ts";
import { canCreateRows, resolveUploadType } from "./upload-types.ts";

export interface BulkUploadDeps {
  store: Store;
  catalogue: Catalogue;
  clock: Clock;
  log: Log;
  system: ActorContext;
  queue: ImportQueue;
  /** Endpoint of this appliance. */
  endpointId(): string;
}

/** Bulk upload of tables. @source docs/decisions/0013-other-resources.md, Bulk upload */
export interface BulkUploadService {
  /**
   * Stores the file of an upload and queues its dry run. Throws not-found, forbidden if `by` may not create such rows,
   * too-large, ConflictError if the upload already has a file.
   */
  acceptFile(
    id: string,
    bytes: AsyncIterable<Uint8Array>,
    given: { fileName: string | null; by: ActorContext },
  ): Promise<BulkUpload>;
  /** Creates the rows of an upload whose dry run succeeded. Throws not-found, forbidden, ConflictError otherwise. */
  commit(id: string, by: ActorContext): Promise<BulkUpload>;
  /** Header line for a resource type, tab-separated. Throws CallerError for a type that cannot be uploaded. */
  template(resourceType: string): string;
  /** Recovers from a crash: fails uploads that were being read, announces rows that became visible. */
  start(): Promise<void>;
  /** Resolves when nothing is being read. */
  idle(): Promise<void>;
  /** Aborts the current run; its rows never became visible, and the next start marks it as failed. */
  stop(): Promise<void>;
}

/** 100,000 lines of 2,500 characters. @source docs/decisions/0540-importers.md, Bulk uploads */
const MAX_FILE_BYTES = 256 * 1_048_576;

export function createBulkUploadService(deps: BulkUploadDeps): BulkUploadService {
  const { store, catalogue, clock, system, queue } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  const typeOf = (name: string) => resolveUploadType(name, catalogue, deps.endpointId());

  function assertMayCreate({ resourceType }: BulkUpload, by: ActorContext): void {
    if (!canCreateRows(typeOf(resourceType), by.scope)) throw forbidden();
  }

  /** Queues a run; an error that escapes it is a bug. */
  function enqueueRun(upload: BulkUpload, by: ActorContext, commits: boolean): void {
    const run = { upload, type: typeOf(upload.resourceType), by, commits };
    queue
      .run(sentence("load.queued-upload", { type: upload.resourceType }), async () => {
        if (signal.aborted || !store.get(bulkUploads, upload.id)) return;
        await clearLogs(deps, upload);
        const started = { status: "RUNNING", startedAt: clock.now(), percentage: 0 } as const;
        await change(upload.id, started);
        await runBulkUpload({ ...deps, signal }, run);
      })
      .catch((error) => {
        if (signal.aborted) return;
        deps.log.error({ event: "import.upload_failed", err: error, bulkUploadId: upload.id }, "bulk upload failed");
      });
  }

  async function change(id: string, values: Partial<BulkUpload>): Promise<void> {
    await store.write((tx) => {
      if (tx.get(bulkUploads, id)) tx.update(bulkUploads, id, {}, system, values as never);
    });
  }

  return {
    async acceptFile(id, bytes, { fileName, by }) {
      const upload = waitingForFile(store, id);
      assertMayCreate(upload, by);
      const stored = await store.files.put(bytes, {
        fileName: fileName ?? "",
        maxBytes: MAX_FILE_BYTES,
        types: ["*/*"],
      });
      let isKept = false;
      try {
        const { sha256, size } = stored.file;
        const row = await store.write((tx) => {
          const current = waitingForFile(tx, id);
          const values = { fileId: sha256, fileBytes: size, fileName, actor: JSON.stringify(by.actor) };
          return tx.update(bulkUploads, current.id, {}, by, values) as Sync<BulkUpload>;
        });
        isKept = true;
        enqueueRun(row, by, !row.testMode);
        return row;
      } finally {
        store.files.release(stored, isKept);
      }
    },
    async commit(id, by) {
      const upload = store.get(bulkUploads, id, by.scope);
      if (!upload) throw notFound();
      assertMayCreate(upload, by);
      const row = await store.write((tx) => {
        const { status } = tx.get(bulkUploads, id) ?? {};
        if (status !== "success")
          throw new ConflictError(
            sentence("conflict.only-an-upload-whose-dry-run-succeeded-can-be-committed"),
            "status",
          );
        const values = { status: "PENDING", endedAt: null, actor: JSON.stringify(by.actor) } as const;
        return tx.update(bulkUploads, id, {}, by, values) as Sync<BulkUpload>;
      });
      enqueueRun(row, by, true);
      return row;
    },
    template: (resourceType) => `${columnNames(typeOf(resourceType).fields).join("\t")}\n`,
    async start() {
      for (const upload of store.find(bulkUploads, {}, 100_000)) {
        if (upload.status === "COMPLETE") await store.announceBatch(upload.id, asSender(upload, system));
        else if (upload.fileId !== null && (upload.status === "PENDING" || upload.status === "RUNNING")) {
          await change(upload.id, { status: "ERROR", endedAt: clock.now() });
        }
      }
    },
    idle: queue.idle,
    stop() {
      stopping.abort();
      return queue.idle();
    },
  };
}

function waitingForFile(reader: Pick<Transaction, "get">, id: string): BulkUpload {
  const upload = reader.get(bulkUploads, id);
  if (!upload) throw notFound();
  if (upload.fileId !== null)
    throw new ConflictError(sentence("conflict.the-upload-already-has-a-file-create-another-upload"), "fileId");
  return upload;
}

/** The permissions of the sender were checked before; only the name is needed here. */
function asSender({ actor }: BulkUpload, system: ActorContext): ActorContext {
  return actor === null ? system : { ...system, actor: JSON.parse(actor) as Actor };
}

/** The logs of the commit replace those of the dry run; deleted in chunks. */
async function clearLogs({ store }: BulkUploadDeps, { pk }: BulkUpload): Promise<void> {
  const sql =
    "DELETE FROM bulk_upload_logs WHERE pk IN (SELECT pk FROM bulk_upload_logs WHERE bulk_upload_pk = ? LIMIT 500)";
  while ((await store.write((tx) => tx.run(sql, pk).changes)) > 0);
}
