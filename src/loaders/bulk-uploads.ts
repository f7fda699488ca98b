import type { Clock } from "../base/clock.ts";
import { ConflictError, forbidden, notFound } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import bulkUploads from "../resources/uploads/bulk-uploads.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { Actor, By, Store, Sync, Transaction } from "../store/store.ts";
import { type BulkUpload, readUpload } from "./bulk-run.ts";
import { columnNames } from "./columns.ts";
import type { Turns } from "./turns.ts";
import { mayMake, uploadType } from "./upload-types.ts";

/** What uploads are made of. */
export interface BulkNeeds {
  store: Store;
  catalogue: Catalogue;
  clock: Clock;
  log: Log;
  system: By;
  turns: Turns;
  /** Id of this appliance. */
  endpointId(): string;
}

/** Uploads of tables. @source decisions.md 13, Bulk upload */
export interface BulkUploads {
  /**
   * Takes an upload's file and begins to read it in its turn. Throws not-found, forbidden where `by` may not make such
   * rows, too-large, ConflictError for an upload that has its file.
   */
  take(id: string, bytes: AsyncIterable<Uint8Array>, given: { fileName: string | null; by: By }): Promise<BulkUpload>;
  /** Makes the rows of an upload that passed its test. Throws not-found, forbidden, ConflictError for any other. */
  commit(id: string, by: By): Promise<BulkUpload>;
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
const LARGEST_FILE = 256 * 1_048_576;

/** Makes the uploads. */
export function createBulkUploads(needs: BulkNeeds): BulkUploads {
  const { store, catalogue, clock, system, turns } = needs;
  const stopping = new AbortController();
  const { signal } = stopping;
  const typeOf = (name: string) => uploadType(name, catalogue, needs.endpointId());

  function requireMaking({ resourceType }: BulkUpload, by: By): void {
    if (!mayMake(typeOf(resourceType), by.scope)) throw forbidden();
  }

  /** Puts the upload in its turn; what goes wrong in it is the appliance's own mistake. */
  function begin(upload: BulkUpload, by: By, keeps: boolean): void {
    const run = { upload, type: typeOf(upload.resourceType), by, keeps };
    turns.take(
      async () => {
        if (signal.aborted || !store.get(bulkUploads, upload.id)) return;
        await clearLogs(needs, upload);
        const started = { status: "RUNNING", startedAt: clock.now(), percentage: 0 } as const;
        await change(upload.id, started);
        await readUpload({ ...needs, signal }, run);
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
    async take(id, bytes, { fileName, by }) {
      const upload = waitingForFile(store, id);
      requireMaking(upload, by);
      const stored = await store.files.put(bytes, { fileName: fileName ?? "", maxBytes: LARGEST_FILE, types: ["*/*"] });
      let isKept = false;
      try {
        const { sha256, size } = stored.file;
        const row = await store.write((tx) => {
          const current = waitingForFile(tx, id);
          const values = { fileId: sha256, fileBytes: size, fileName, actor: JSON.stringify(by.actor) };
          return tx.update(bulkUploads, current.id, {}, by, values) as Sync<BulkUpload>;
        });
        isKept = true;
        begin(row, by, !row.testMode);
        return row;
      } finally {
        store.files.release(stored, isKept);
      }
    },
    async commit(id, by) {
      const upload = store.get(bulkUploads, id, by.scope);
      if (!upload) throw notFound();
      requireMaking(upload, by);
      const row = await store.write((tx) => {
        const { status } = tx.get(bulkUploads, id) ?? {};
        if (status !== "success")
          throw new ConflictError("Only an upload whose test succeeded can be committed.", "status");
        const values = { status: "PENDING", endedAt: null, actor: JSON.stringify(by.actor) } as const;
        return tx.update(bulkUploads, id, {}, by, values) as Sync<BulkUpload>;
      });
      begin(row, by, true);
      return row;
    },
    template: (resourceType) => `${columnNames(typeOf(resourceType).fields).join("\t")}\n`,
    async start() {
      for (const upload of store.find(bulkUploads, {}, 100_000)) {
        if (upload.status === "COMPLETE") await store.announceBatch(upload.id, signedBy(upload, system));
        else if (upload.fileId !== null && (upload.status === "PENDING" || upload.status === "RUNNING")) {
          await change(upload.id, { status: "ERROR", endedAt: clock.now() });
        }
      }
    },
    idle: turns.idle,
    stop() {
      stopping.abort();
      return turns.idle();
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
function signedBy({ actor }: BulkUpload, system: By): By {
  return actor === null ? system : { ...system, actor: JSON.parse(actor) as Actor };
}

/** The logs of a test give way to those of the commit, in slices. */
async function clearLogs({ store }: BulkNeeds, { pk }: BulkUpload): Promise<void> {
  const sql =
    "DELETE FROM bulk_upload_logs WHERE pk IN (SELECT pk FROM bulk_upload_logs WHERE bulk_upload_pk = ? LIMIT 500)";
  while ((await store.write((tx) => tx.run(sql, pk).changes)) > 0);
}
