import type { EventMap } from "../lib/events.ts";
import type { SentenceReader } from "../lib/sentences/registry.ts";
import type { StoredFile } from "../schema/field.ts";
import type { AnyResource, Method, RowBase, RowOf, SystemValues } from "../schema/resource.ts";
import type { UploadedFile } from "../schema/uploaded-file.ts";
import type { AuditNote, AuditRange, AuditVerification, SignedAuditNote } from "./audit-types.ts";
import type { RowImage } from "./shared-log.ts";
import type { Durability } from "./write-queue.ts";

/** The acting user or system module, for the audit. System actors carry the name of their module. */
export interface Actor {
  kind: "user" | "system";
  userId: string | null;
  name: string;
  /** Network address that the request came from; null for internal writes. */
  address: string | null;
}

/** The visible rows of a resource: all, none, or those matching a condition over the row alias `t`. */
export type VisibilityCondition = "all" | "none" | { sql: string; params: readonly SqlValue[] };

/** Decides which rows of each resource are visible. */
export interface RowVisibility {
  visible(resource: AnyResource): VisibilityCondition;
}

/** Permissions and visibility of a caller in one acting domain; compiled by the permissions module. */
export interface AccessScope extends RowVisibility {
  /** The acting domain, home of new domain-scoped rows; null before the first domain exists. */
  readonly domainId: string | null;
  /** Permission check. `path` is concrete, with a leading slash and ids: `/users/0190…/devices`. */
  allows(method: Method, path: string): boolean;
  /**
   * Rows visible in the acting domain regardless of permissions: its own, its descendants' and those shared by
   * ancestors.
   */
  readonly domainVisibility: RowVisibility;
  /** Rows that can be changed in the acting domain: its own and its descendants'. */
  readonly changeable: RowVisibility;
  /** True for the acting domain and its descendants: rows may be moved into and out of them. */
  canAssign(domainId: string): boolean;
  /** True for domains that the caller may refer to: those of `canAssign`, their ancestors, and the user's own. */
  canReference(domainId: string): boolean;
}

/** An idempotent request: the caller's idempotency key and a hash of the request. */
export interface IdempotencyClaim {
  /** Namespace of the key: two callers may use the same key. */
  owner: string;
  key: string;
  /** SHA-256 of the request, hex. */
  requestHash: string;
}

/** The stored outcome of an idempotent request. */
export interface IdempotencyRecord {
  /** The stored response; null when the process crashed before `recordResponse`. */
  response: string | null;
  /** The first row that the request created. */
  createdRow: { resource: string; id: string } | null;
}

/** Stores the outcome of idempotent requests for 24 hours. @source docs/decisions/0002-errors.md */
export interface IdempotencyStore {
  /** Null for an unknown key. Throws ConflictError when the key was used for a different request. */
  find(claim: IdempotencyClaim): IdempotencyRecord | null;
  /** Call it inside the transaction of the request; only the first row is stored. */
  recordRow(claim: IdempotencyClaim, resource: string, id: string): void;
  /** Call it inside a transaction: stores the response sealed, because it may hold a secret that is shown once. */
  recordResponse(claim: IdempotencyClaim, response: string): void;
}

/** The actor of a write and the scope it acts in. */
export interface ActorContext {
  actor: Actor;
  scope: AccessScope;
  /** Set for an idempotent request: recorded with the first row that is written. */
  idempotencyClaim?: IdempotencyClaim;
  /** The row was written by another appliance or the cloud, which checked limits and set `updatedAt`. */
  replicated?: boolean;
}

/** An audited event that wrote no row. */
export interface AuditEvent {
  op:
    | "log-in"
    | "log-in-refused"
    | "log-in-throttled"
    | "password-reset"
    | "password-reset-requested"
    | "credential-refused"
    | "refused"
    | "read"
    | "trust-change"
    | "history-removed";
  /** Name of the resource concerned. */
  resource: string;
  rowId: string | null;
  /** Plain values, never secrets. */
  details?: Readonly<Record<string, unknown>>;
}

/** Values that better-sqlite3 can bind. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/** The audit as a whole. @source docs/decisions/0484-audit-chain-with-a-key.md */
export interface AuditLog {
  verify(range?: AuditRange): Promise<AuditVerification>;
  /** The end of the chain now, signed; null before the first entry. */
  end(): SignedAuditNote | null;
  /** True if this appliance has signed the note. */
  isAuthentic(note: SignedAuditNote): boolean;
  /** True if the chain still has this entry, with this hash. */
  includes(note: Pick<AuditNote, "number" | "hash">): boolean;
}

/** One change of a row as hooks see it. */
export interface RowMutation<R extends AnyResource = AnyResource> {
  op: "create" | "update" | "delete";
  before: RowOf<R> | null;
  /** The row to be written; null on delete. `beforeWrite` may change it. */
  after: RowOf<R> | null;
  /** Names of the fields present in the input. */
  given: ReadonlySet<string>;
}

/** Context of `present`, which computes the extra fields of a page. */
export interface PresentContext {
  reader: StoreReader;
  /** Reads codes and parameters of sentences. */
  sentences: SentenceReader;
  scope: AccessScope;
  /** Query parameters in camelCase. */
  query: Readonly<Record<string, unknown>>;
  /** Ids of the path's placeholders, by name. */
  params: Readonly<Record<string, string>>;
  /** Rows of any resource with the ids removed that are not visible in the acting domain. */
  hide<R extends RowBase>(resource: AnyResource, rows: readonly R[]): readonly R[];
  /** True for rows nested in other rows; they are serialized without computed lists. */
  isNested?: boolean;
}

/** Hooks of a resource, bound in the wiring module; they run for every write, whether from API, CLI or modules. */
export interface ResourceHooks<R extends AnyResource = AnyResource> {
  /** Slow checks before the transaction (decoding a recording); may change `input`; throws CallerError. */
  prepare?(input: Record<string, unknown>, op: "create" | "update", reader: StoreReader): Promise<void>;
  /**
   * Replaces `prepare` and the single write when a create changes very many other rows: performs it in chunks through
   * `store`, with the guarantees of one write.
   */
  createInChunks?(input: object, by: ActorContext, store: Store): Promise<RowOf<R>>;
  /** As `createInChunks`, for a removal. */
  removeInChunks?(id: string, by: ActorContext, store: Store, check?: (row: RowOf<R>) => void): Promise<void>;
  /** Runs inside the transaction, after the field checks and before the row is stored; throws CallerError. */
  beforeWrite?(change: RowMutation<R>, tx: Transaction, by: ActorContext): void;
  /** Runs inside the transaction, after the row is stored. */
  afterWrite?(change: RowMutation<R>, tx: Transaction, by: ActorContext): void;
  /** Extra members in API form, one object per row in the same order. No query per row. */
  present?(rows: readonly RowOf<R>[], context: PresentContext): Record<string, unknown>[];
}

/** A condition on one field. */
export interface FieldFilter {
  field: string;
  /** `in`: one of a list of values; `set` with true: the field has a value; `set` with false: it has none. */
  op: "eq" | "in" | "set" | "gt" | "gte" | "lt" | "lte";
  /** Null: the field has no value. A list only for `in`. */
  value: string | number | boolean | null | readonly (string | number | boolean | null)[];
}

/**
 * A search: the words of a text in one field or (null) in any text field, all required, the last one as a prefix,
 * without case and accents; a filter; or a combination of searches.
 */
export type SearchQuery =
  | { text: string; field: string | null }
  | { filter: FieldFilter }
  | { all: readonly SearchQuery[] }
  | { any: readonly SearchQuery[] };

/** Query of a list; defaults are those of the API. Values are already typed. */
export interface PageQuery {
  /** Rows whose ref field equals the id, from the URL path. */
  within?: Readonly<Record<string, string>>;
  /** From a path's `through`: rows linked by matching rows of that resource. */
  through?: { resource: string; via: string; hiddenBy?: string; within: Readonly<Record<string, string>> };
  filters?: readonly FieldFilter[];
  search?: SearchQuery;
  ids?: readonly string[];
  /** Internal keys, for lists restricted by a computation (a device group's members). */
  pks?: readonly number[];
  /** Identifies the computation of `pks` in page tokens, because the keys may change between two pages. */
  pksOf?: string;
  /** Field name, `-name` for descending; default: creation time, then id. */
  sort?: string;
  /** 1 to 1000, default 100. */
  limit?: number;
  /** Rows to skip before the page; cheap if an index gives the order, else a scan. */
  skip?: number;
  /** Absent, `end`, or a page token of the same list. */
  start?: string;
  includeTotal?: boolean;
  scope?: RowVisibility;
}

/** One page, rows in the list's order. */
export interface Page<R extends AnyResource> {
  rows: RowOf<R>[];
  /** Null when not requested. */
  total: number | null;
  partial: boolean;
  previous: string | null;
  next: string | null;
}

/** Reads see committed rows; inside a transaction also its own writes. */
export interface StoreReader {
  /** Null when the row does not exist or `visibility` hides it. `id` is compared without case. */
  get<R extends AnyResource>(resource: R, id: string, visibility?: RowVisibility): RowOf<R> | null;
  getByPk<R extends AnyResource>(resource: R, pk: number): RowOf<R> | null;
  /** Rows whose fields equal the values (null matches null), in creation order, at most `limit` (1000). */
  find<R extends AnyResource>(resource: R, where: Partial<RowOf<R>>, limit?: number): RowOf<R>[];
  /** Rows for the given internal keys, unordered. */
  getByPks<R extends AnyResource>(resource: R, pks: readonly number[]): RowOf<R>[];
  /** Rows for the given ids, in lower case, unordered. */
  getByIds<R extends AnyResource>(resource: R, ids: readonly string[]): RowOf<R>[];
  page<R extends AnyResource>(resource: R, query: PageQuery): Page<R>;
  count<R extends AnyResource>(resource: R, where: Partial<RowOf<R>>): number;
  /** Raw SQL for hot paths; statements are prepared once. Parameters are `?`. */
  all<T = Record<string, SqlValue>>(sql: string, ...params: SqlValue[]): T[];
  one<T = Record<string, SqlValue>>(sql: string, ...params: SqlValue[]): T | null;
}

/** A replicated row. */
export interface AppliedRow {
  resource: AnyResource;
  id: string;
  row: Readonly<Record<string, unknown>>;
}

/** The write side, valid only while its function runs. */
export interface Transaction extends StoreReader {
  /**
   * Checks `input` (JSON in API spelling, unknown members ignored) against declaration, references, limits and
   * uniqueness, runs hooks, stores row, feed and audit. `system` sets read-only and internal fields too. Throws
   * CallerError, LimitError, ConflictError.
   */
  create<R extends AnyResource>(resource: R, input: object, by: ActorContext, system?: SystemValues<R>): RowOf<R>;
  /** Changes the members present in `input`; null clears. Throws not-found, and what `create` throws. */
  update<R extends AnyResource>(
    resource: R,
    id: string,
    input: object,
    by: ActorContext,
    system?: SystemValues<R>,
  ): RowOf<R>;
  /** Deletes a row and its cascading dependants; each leaves a tombstone. Throws not-found. */
  remove<R extends AnyResource>(resource: R, id: string, by: ActorContext): void;
  /**
   * Applies a replicated row, or removes it (null; a missing row is fine). Hooks run. Throws what `create`, `update`
   * and `remove` throw, after rolling back its own changes.
   */
  apply<R extends AnyResource>(resource: R, id: string, row: SystemValues<R> | null, by: ActorContext): void;
  /** As `apply` for each row in order, but far faster, all or none: false when any row was refused. */
  applyAll(rows: readonly AppliedRow[], by: ActorContext): boolean;
  /**
   * Copies a row that `by` sees, with the children that its declaration names. Throws not-found and what `create`
   * throws.
   */
  clone<R extends AnyResource>(resource: R, id: string, by: ActorContext): RowOf<R>;
  /** Adds an audit entry; row writes add theirs automatically. */
  addAuditEvent(note: AuditEvent, by: ActorContext): void;
  /** Raw SQL write, for append-only resources and internal tables. */
  run(sql: string, ...params: SqlValue[]): { changes: number; lastInsertRowid: number };
  /** Emits an event after COMMIT; dropped on rollback. */
  emit<K extends keyof EventMap>(name: K, payload: EventMap[K]): void;
}

/**
 * A batch of very many rows that become visible all at once or not at all. They are written in chunks with all checks;
 * until `publish` no other reader sees them, but their unique values are taken. A crash before `publish` removes them.
 */
export interface StagedBatch {
  /**
   * As the store's `write`, in the normal lane: `fn` sees the batch's rows, and rows it creates of the batch's
   * resources belong to the batch. A refused row leaves nothing. Keep each call to a few milliseconds.
   */
  write<T>(fn: (tx: Transaction) => Sync<T>): Promise<T>;
  /**
   * Makes all rows visible in one short write; `alongside` runs in it. `announceBatch` then adds feed, audit and
   * search.
   */
  publish(alongside?: (tx: Transaction) => void): Promise<void>;
  /** Removes the rows in chunks, without traces in feed, audit and search. `alongside` runs in the last transaction. */
  discard(alongside?: (tx: Transaction) => void): Promise<void>;
}

/** Rejects async functions at compile time: a transaction must not span an await. */
export type Sync<T> = T extends Promise<unknown> ? never : T;

/** Files of rows, content-addressed under DIR/files and fsynced before a row can refer to them. */
export interface FileStore {
  /**
   * Stores the bytes. Throws too-large above `maxBytes` and unsupported-media-type unless the type, detected from the
   * bytes, is in `types`.
   */
  put(
    bytes: AsyncIterable<Uint8Array>,
    options: {
      fileName: string;
      maxBytes: number;
      types: readonly string[];
      /** Called while a conversion waits in the queue: urgent uploads go first. */
      isUrgent?: () => boolean;
    },
  ): Promise<UploadedFile>;
  /**
   * Must follow each `put` once it is known whether a row refers to the file (`kept`). New bytes that no upload kept
   * are deleted.
   */
  release(upload: UploadedFile, kept: boolean): void;
  /** Absolute path of the stored bytes. */
  pathOf(file: StoredFile): string;
  read(file: StoredFile): Promise<Buffer>;
}

/**
 * Seals texts with the appliance's secret key (AES-256-GCM; systemd credential, else DIR/secret-key with mode 0600).
 */
export interface Secrets {
  seal(plain: string): string;
  /** Throws BugError when the text was sealed with another key. */
  open(sealed: string): string;
}

/** The appliance's database. */
export interface Store extends StoreReader {
  readonly files: FileStore;
  readonly secrets: Secrets;
  readonly idempotency: IdempotencyStore;
  readonly audit: AuditLog;
  /**
   * As `page`, for lists that anybody may ask for: large tables are read in chunks with a turn of the event loop in
   * between.
   */
  pageInChunks<R extends AnyResource>(resource: R, query: PageQuery): Promise<Page<R>>;
  /**
   * Runs `fn` in a savepoint of the next group commit and resolves after COMMIT. If `fn` throws, the promise rejects
   * and only `fn` is rolled back. Emergency writes go before all others. A `deferred` write does not wait for the disk:
   * a power cut may undo it, but never a later write without it.
   */
  write<T>(fn: (tx: Transaction) => Sync<T>, lane?: "normal" | "emergency", durability?: Durability): Promise<T>;
  /** Runs `prepare`, then one write. */
  create<R extends AnyResource>(
    resource: R,
    input: object,
    by: ActorContext,
    system?: SystemValues<R>,
  ): Promise<RowOf<R>>;
  /** Runs `prepare`, then one write; `check` runs in it and throws to refuse the update. */
  update<R extends AnyResource>(
    resource: R,
    id: string,
    input: object,
    by: ActorContext,
    system?: SystemValues<R>,
    check?: (row: RowOf<R>) => void,
  ): Promise<RowOf<R>>;
  /**
   * As the transaction's `remove`, in chunks if very many rows depend on the row; dependants go first. `check` throws
   * to refuse the removal.
   */
  remove<R extends AnyResource>(
    resource: R,
    id: string,
    by: ActorContext,
    check?: (row: RowOf<R>) => void,
  ): Promise<void>;
  /** Dry run: throws what `remove` would throw and changes nothing. */
  dryRunRemoval<R extends AnyResource>(
    resource: R,
    id: string,
    by: ActorContext,
    check?: (row: RowOf<R>) => void,
  ): Promise<void>;
  clone<R extends AnyResource>(resource: R, id: string, by: ActorContext): Promise<RowOf<R>>;
  /** Opens a staged batch for these resources. Throws ConflictError while another batch is open. */
  openBatch(id: string, resources: readonly AnyResource[]): Promise<StagedBatch>;
  /**
   * Adds feed, audit and search entries of a published batch, emits its events and runs `afterWrite`, in chunks.
   * Resumes after a restart; does nothing when complete. Rejects with the signal's reason when it aborts.
   */
  announceBatch(id: string, by: ActorContext, signal?: AbortSignal): Promise<void>;
  hooksFor(resource: AnyResource): ResourceHooks;
  /** Online backup: writes a copy of the database to `path`, which must not exist, while reads and writes go on. */
  backupTo(path: string): Promise<void>;
  /**
   * Seals every stored secret with another key, in one transaction with its audit entry, and returns their number. The store
   * still has the old key: it must have no other users, and be closed.
   */
  rotateKey(key: Buffer, by: ActorContext): Promise<number>;
  /**
   * Renews the statistics by which SQLite chooses indexes, of large tables whose size has changed about tenfold; also done
   * after each published batch and at the close. Resolves with the names of the tables; a failure is logged.
   */
  refreshStatistics(): Promise<string[]>;
  /** Resolves when no visible write can still be rolled back; immediately without a shared log. */
  whenSettled(): Promise<void>;
  /** The replica of rows shared with other processes; null without a shared log. */
  readonly shared: SharedCopy | null;
  /** Commits what is queued, then closes the file. */
  close(): Promise<void>;
}

/** A replica of rows shared with other processes. */
export interface SharedCopy {
  /** Position in the shared log up to which it is complete; 0 if it was never shared. */
  position(): number;
  /** All rows in chunks; only one chunk is held in memory. */
  all(): Generator<readonly RowImage[]>;
  /** The row with this key, null if there is none; undefined for a table that is not shared. */
  find(table: string, key: string): string | null | undefined;
  /** Row counts of the shared tables. */
  counts(): ReadonlyMap<string, number>;
  /** Applies the rows written by others page by page; calls `taken` after each page. Throws UpstreamError. */
  catchUp(taken?: () => void): Promise<void>;
  /** Sets the position, after the rows up to it were exported from this replica. */
  setPosition(at: number): void;
}

/** A row that was just written or deleted: `before`, `after` or both are set. Decoded values, secrets sealed. */
export interface CapturedWrite {
  resource: AnyResource;
  before: Readonly<Record<string, unknown>> | null;
  after: Readonly<Record<string, unknown>> | null;
}

/**
 * Called for each written row inside its transaction, except replicated rows; if it throws, the write is rolled back.
 */
export type ChangeCapture = (written: CapturedWrite, tx: Transaction, by: ActorContext) => void;

/**
 * An internal table of a module, created at start; `sql` is one STRICT `CREATE TABLE IF NOT EXISTS` plus its indexes.
 */
export interface InternalTable {
  name: string;
  sql: string;
}
