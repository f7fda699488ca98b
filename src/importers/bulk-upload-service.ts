import type { Clock } from "../lib/clock.ts";
import { ConflictError, forbidden, notFound } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { SerialQueue } from "../lib/serial-queue.ts";
import bulkUploads from "../resources/uploads/bulk-uploads.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { Actor, ActorContext, Store, Sync, Transaction } from "../store/store.ts";
import { type BulkUpload, runBulkUpload } from "./bulk-upload-run.ts";
import { columnNames } from "./table-columns.ts";
import { canCreateRows, resolveUploadType } from "./upload-types.ts";

/** What uploads are made of. */
export interface BulkUploadDeps {
  store: Store;
  catalogue: Catalogue;
  clock: Clock;
  log: Log;
  system: ActorContext;
  queue: SerialQueue;
  /** Id of this appliance. */
  endpointId(): string;
}

/** Uploads of tables. @source decisions.md 13, Bulk upload */
export interface BulkUploadService {
  /**
   * Takes an upload's file and begins to read it in its turn. Throws not-found, forbidden where `by` may not make such
   * rows, too-large, ConflictError for an upload that has its file.
   */
  acceptFile(
    id: string,
    bytes: AsyncIterable<Uint8Array>,
    given: { fileName: string | null; by: ActorContext },
  ): Promise<BulkUpload>;
  /** Makes the rows of an upload that passed its test. Throws not-found, forbidden, ConflictError for any other. */
  commit(id: string, by: ActorContext): Promise<BulkUpload>;
  /** The head line of a table of these, tab-separated. Throws CallerError for what can't be uploaded. */
  template(resourceType: string): string;
  /** Ends what an ended process left: uploads that were being read are over, rows that came into sight are announced. */
  start(): Promise<void>;
  /** Resolves once nothing is being read. */
  idle(): Promise<void>;
  /** Breaks off what is being read: its rows were in nobody's sight, and the next start says so. */
  stop(): Promise<void>;
}

/** own choice: 100,000 lines of 2,500 characters. */
const MAX_FILE_BYTES = 256 * 1_048_576;

/** Makes the uploads. */
export function createBulkUploadService(needs: BulkUploadDeps): BulkUploadService {
  const { store, catalogue, clock, system, queue } = needs;
  const stopping = new AbortController();
  const { signal } = stopping;
  const typeOf = (name: string) => resolveUploadType(name, catalogue, needs.endpointId());

  function assertMayCreate({ resourceType }: BulkUpload, by: ActorContext): void {
    if (!canCreateRows(typeOf(resourceType), by.scope)) throw forbidden();
  }

  /** Puts the upload in its turn; what goes wrong in it is the appliance's own mistake. */
  function enqueueRun(upload: BulkUpload, by: ActorContext, commits: boolean): void {
    const run = { upload, type: typeOf(upload.resourceType), by, commits };
    queue.enqueue(
      async () => {
        if (signal.aborted || !store.get(bulkUploads, upload.id)) return;
        await clearLogs(needs, upload);
        const started = { status: "RUNNING", startedAt: clock.now(), percentage: 0 } as const;
        await change(upload.id, started);
        await runBulkUpload({ ...needs, signal }, run);
      },
      (error) => {
        if (signal.aborted) return;
        needs.log.error({ err: error, bulkUploadId: upload.id }, "an upload was not read to its end");
      },
    );
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
          throw new ConflictError("Only an upload whose test succeeded can be committed.", "status");
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
  if (upload.fileId !== null) throw new ConflictError("The upload has its file already; make another one.", "fileId");
  return upload;
}

/** The rows were checked by the rights of whoever sent them; only the name is needed after that. */
function asSender({ actor }: BulkUpload, system: ActorContext): ActorContext {
  return actor === null ? system : { ...system, actor: JSON.parse(actor) as Actor };
}

/** The logs of a test give way to those of the commit, in slices. */
async function clearLogs({ store }: BulkUploadDeps, { pk }: BulkUpload): Promise<void> {
  const sql =
    "DELETE FROM bulk_upload_logs WHERE pk IN (SELECT pk FROM bulk_upload_logs WHERE bulk_upload_pk = ? LIMIT 500)";
  while ((await store.write((tx) => tx.run(sql, pk).changes)) > 0);
}
