import type { EventMap } from "../lib/events.ts";
import type { StoredFile } from "../schema/field.ts";
import type { AnyResource, Method, RowBase, RowOf, SystemValues } from "../schema/resource.ts";
import type { UploadedFile } from "../schema/uploaded-file.ts";
import type { RowImage } from "./shared-log.ts";
import type { Durability } from "./write-queue.ts";

/** Who acts, for the audit. System actors carry the name of their room. */
export interface Actor {
  kind: "user" | "system";
  userId: string | null;
  name: string;
  /** Network address the request came from, null inside the appliance. */
  address: string | null;
}

/** Which rows of a resource somebody sees: all, none, or those a condition over the row alias `t` admits. */
export type VisibilityCondition = "all" | "none" | { sql: string; params: readonly SqlValue[] };

/** Which rows somebody sees by one measure. */
export interface RowVisibility {
  visible(resource: AnyResource): VisibilityCondition;
}

/** What somebody may do and see; compiled by `access/`, the only room that says no. */
export interface AccessScope extends RowVisibility {
  /** The acting domain, home for new domain-scoped rows; null before the first domain exists. */
  readonly domainId: string | null;
  /** `path` is concrete, with a leading slash and ids: `/users/0190…/devices`. */
  allows(method: Method, path: string): boolean;
  /** What the acting domain shows, whatever the permissions are: its rows, those below it and those shared from above. */
  readonly domainVisibility: RowVisibility;
  /** What can be changed in the acting domain: its rows and those below it. */
  readonly changeable: RowVisibility;
  /** True for the acting domain and those below it, where rows may be put and taken from. */
  canAssign(domainId: string): boolean;
  /** True for domains that may be named: those that `holds` admits, those above, and the user's own. */
  canReference(domainId: string): boolean;
}

/** One request that must be carried out once, whatever is heard of it: the caller's key for it, and what it is. */
export interface IdempotencyClaim {
  /** Whose key it is: two callers may choose the same. */
  owner: string;
  key: string;
  /** SHA-256 of the request, hex. */
  requestHash: string;
}

/** What became of a request that was carried out. */
export interface IdempotencyRecord {
  /** The answer as `keep` took it; null when a crash came before. */
  response: string | null;
  /** The row that it made first. */
  createdRow: { resource: string; id: string } | null;
}

/** Remembers what was carried out under which key. @source docs/decisions/0042-api-contract.md, Common rules */
export interface IdempotencyStore {
  /** Null when nothing was carried out under the key. Throws ConflictError when it was another request. */
  find(claim: IdempotencyClaim): IdempotencyRecord | null;
  /** Inside the transaction that carries the request out; the first row marked counts. */
  recordRow(claim: IdempotencyClaim, resource: string, id: string): void;
  /** Inside a transaction: keeps the answer, sealed, since it may hold what is shown once. */
  recordResponse(claim: IdempotencyClaim, answer: string): void;
}

/** On whose behalf a write happens. */
export interface ActorContext {
  actor: Actor;
  scope: AccessScope;
  /** The request that this is part of, where it must be carried out once: marked with the first row that is written. */
  idempotencyClaim?: IdempotencyClaim;
  /** The row is another side's, which counted it against limits and knows when it was written. */
  replicated?: boolean;
}

/** Something worth an entry of the audit that wrote no row. */
export interface AuditEvent {
  op: "log-in" | "log-in-refused" | "refused";
  /** Name of the resource it is about. */
  resource: string;
  rowId: string | null;
  /** Plain values, never a secret. */
  details?: Readonly<Record<string, unknown>>;
}

/** What better-sqlite3 can bind. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/** One change as behaviours see it. */
export interface RowMutation<R extends AnyResource = AnyResource> {
  op: "create" | "update" | "delete";
  before: RowOf<R> | null;
  /** The row to be written; null on delete. Before the write a behaviour may change it. */
  after: RowOf<R> | null;
  /** Names of the fields that the input gave. */
  given: ReadonlySet<string>;
}

/** What `present` may use to compute a page's extra fields. */
export interface PresentContext {
  reader: StoreReader;
  scope: AccessScope;
  /** Query parameters in camelCase. */
  query: Readonly<Record<string, unknown>>;
  /** Ids of the path's placeholders, by name. */
  params: Readonly<Record<string, string>>;
  /** Rows of any resource without the ids that the acting domain hides. */
  hide<R extends RowBase>(resource: AnyResource, rows: readonly R[]): readonly R[];
  /** True for rows within other rows, which are shown without their computed lists. */
  isNested?: boolean;
}

/** Logic of a room bound to a resource in `app/behaviours.ts`; every member runs for API, CLI and rooms alike. */
export interface ResourceHooks<R extends AnyResource = AnyResource> {
  /** Slow checks before the transaction (decoding a recording); may change `input`; throws CallerError. */
  prepare?(input: Record<string, unknown>, op: "create" | "update", reader: StoreReader): Promise<void>;
  /**
   * Instead of `prepare` and one write, where a create changes very many other rows: carries it out in slices through
   * `store`, with all that one write promises.
   */
  createInChunks?(input: object, by: ActorContext, store: Store): Promise<RowOf<R>>;
  /** As `createInSlices`, for a removal. */
  removeInChunks?(id: string, by: ActorContext, store: Store, check?: (row: RowOf<R>) => void): Promise<void>;
  /** Inside the transaction, after the field checks, before the row is stored; throws CallerError. */
  beforeWrite?(change: RowMutation<R>, tx: Transaction, by: ActorContext): void;
  /** Inside the transaction, after the row is stored. */
  afterWrite?(change: RowMutation<R>, tx: Transaction, by: ActorContext): void;
  /** Extra members in API form, one object per row in the same order. No query per row. */
  present?(rows: readonly RowOf<R>[], context: PresentContext): Record<string, unknown>[];
}

/** A condition on one field. */
export interface FieldFilter {
  field: string;
  /** `in`: one of a list of values; `set`: true where the field holds something, false where it holds nothing. */
  op: "eq" | "in" | "set" | "gt" | "gte" | "lt" | "lte";
  /** Null: the field holds nothing. A list for `in` alone. */
  value: string | number | boolean | null | readonly (string | number | boolean)[];
}

/**
 * What rows are searched for: the words of a text in one field or in any text field (null), all of them, the last one as
 * the beginning of a word, whatever the case and the accents; a filter; or several searches.
 */
export type SearchQuery =
  | { text: string; field: string | null }
  | { filter: FieldFilter }
  | { all: readonly SearchQuery[] }
  | { any: readonly SearchQuery[] };

/** What a list asks for; defaults are the API's. Values are already typed by the declaration. */
export interface PageQuery {
  /** Rows whose ref field equals the id, from the path. */
  within?: Readonly<Record<string, string>>;
  /** From a path's `through`: the matching rows of that resource decide. */
  through?: { resource: string; via: string; hiddenBy?: string; within: Readonly<Record<string, string>> };
  filters?: readonly FieldFilter[];
  search?: SearchQuery;
  ids?: readonly string[];
  /** Internal keys, for lists restricted by a computation (a device group's members). */
  pks?: readonly number[];
  /** What `pks` were computed from: page tokens name the list by it, as the keys may change between two pages. */
  pksOf?: string;
  /** Field name, `-name` descends; creation time then id unless given. */
  sort?: string;
  /** 1..1000, 100 unless given. */
  limit?: number;
  /** Rows to pass over before the page; cheap where an index gives the order, else one look at each row. */
  skip?: number;
  /** Absent, `end`, or a token of an earlier page of the same list. */
  start?: string;
  includeTotal?: boolean;
  scope?: RowVisibility;
}

/** One page, rows in the list's order. */
export interface Page<R extends AnyResource> {
  rows: RowOf<R>[];
  /** Null when not asked for. */
  total: number | null;
  partial: boolean;
  previous: string | null;
  next: string | null;
}

/** Reads see committed rows only (inside a transaction: its own too). */
export interface StoreReader {
  /** Null when there is no such row or `sight` does not show it. `id` is compared without case. */
  get<R extends AnyResource>(resource: R, id: string, sight?: RowVisibility): RowOf<R> | null;
  getByPk<R extends AnyResource>(resource: R, pk: number): RowOf<R> | null;
  /** Rows whose fields equal the values (null matches null), in creation order, at most `limit` (1000). */
  find<R extends AnyResource>(resource: R, where: Partial<RowOf<R>>, limit?: number): RowOf<R>[];
  /** Rows for the given internal keys, unordered. */
  getByPks<R extends AnyResource>(resource: R, pks: readonly number[]): RowOf<R>[];
  /** Rows for the given ids, in lower case, unordered. */
  getByIds<R extends AnyResource>(resource: R, ids: readonly string[]): RowOf<R>[];
  page<R extends AnyResource>(resource: R, query: PageQuery): Page<R>;
  count<R extends AnyResource>(resource: R, where: Partial<RowOf<R>>): number;
  /** Raw SQL for the hot paths of rooms; statements are prepared once. Parameters are `?`. */
  all<T = Record<string, SqlValue>>(sql: string, ...params: SqlValue[]): T[];
  one<T = Record<string, SqlValue>>(sql: string, ...params: SqlValue[]): T | null;
}

/** A row as another side has it. */
export interface AppliedRow {
  resource: AnyResource;
  id: string;
  row: Readonly<Record<string, unknown>>;
}

/** The write side, valid only while its function runs. */
export interface Transaction extends StoreReader {
  /**
   * Checks `input` (JSON in API spelling, unknown members ignored) against declaration, references, limits and
   * uniqueness, runs behaviours, stores the row, feed and audit. `system` sets read-only and internal fields too.
   * Throws CallerError, LimitError, ConflictError.
   */
  create<R extends AnyResource>(resource: R, input: object, by: ActorContext, system?: SystemValues<R>): RowOf<R>;
  /** Changes the members present in `input`; null clears. Throws not-found when there is no such row. */
  update<R extends AnyResource>(
    resource: R,
    id: string,
    input: object,
    by: ActorContext,
    system?: SystemValues<R>,
  ): RowOf<R>;
  /** Deletes a row and what cascades from it; each leaves a tombstone. Throws not-found. */
  remove<R extends AnyResource>(resource: R, id: string, by: ActorContext): void;
  /**
   * Writes a row as another side has it, or removes it (null; one that is not there is fine). Behaviours run. Throws what
   * `create`, `update` and `remove` throw, and then left nothing.
   */
  apply<R extends AnyResource>(resource: R, id: string, row: SystemValues<R> | null, by: ActorContext): void;
  /** As `apply` of each row, in order and far quicker, or none of them: false when one would be refused. */
  applyAll(rows: readonly AppliedRow[], by: ActorContext): boolean;
  /** Copies a row that `by` sees, with the children its declaration names. Throws not-found and all that `create` throws. */
  clone<R extends AnyResource>(resource: R, id: string, by: ActorContext): RowOf<R>;
  /** Adds an entry to the audit; writes of rows leave theirs by themselves. */
  addAuditEvent(note: AuditEvent, by: ActorContext): void;
  /** Raw SQL write for facts and rooms' own tables. */
  run(sql: string, ...params: SqlValue[]): { changes: number; lastInsertRowid: number };
  /** Tells an event after COMMIT; dropped when the transaction fails. */
  emit<K extends keyof EventMap>(name: K, payload: EventMap[K]): void;
}

/**
 * Very many rows that come into sight all at once, or not at all. They are written in slices with all checks; whoever
 * reads meanwhile sees none of them, and their unique values are taken. A crash before `show` leaves none.
 */
export interface StagedBatch {
  /**
   * As the store's `write`, in normal turn: `fn` sees the batch's rows, and what it creates of the batch's resources is
   * one of them. A row that is refused leaves nothing. Keep each to a few milliseconds.
   */
  write<T>(fn: (tx: Transaction) => Sync<T>): Promise<T>;
  /** One short write: all rows are there. `alongside` runs in it. Feed, audit and search follow by `announceBatch`. */
  publish(alongside?: (tx: Transaction) => void): Promise<void>;
  /** Removes them in slices; feed, audit and search never heard of them. `alongside` runs in the last one. */
  discard(alongside?: (tx: Transaction) => void): Promise<void>;
}

/** Refuses functions that would leave the transaction open across an await. */
export type Sync<T> = T extends Promise<unknown> ? never : T;

/** The files of rows, content-addressed under DIR/files, fsynced before a row can name them. */
export interface FileStore {
  /** Stores the bytes; refuses more than `maxBytes` (too-large) and kinds other than `types` (unsupported-media-type), found from the bytes. */
  put(
    bytes: AsyncIterable<Uint8Array>,
    options: {
      fileName: string;
      maxBytes: number;
      types: readonly string[];
      /** Asked when it has to wait for others to be read: an emergency goes first. */
      isUrgent?: () => boolean;
    },
  ): Promise<UploadedFile>;
  /**
   * Must follow each `put` once it is clear whether a row took the file (`kept`). Bytes that were new with it and that
   * nobody kept are removed.
   */
  release(upload: UploadedFile, kept: boolean): void;
  /** Absolute path of the stored bytes. */
  pathOf(file: StoredFile): string;
  read(file: StoredFile): Promise<Buffer>;
}

/** Seals texts with the appliance's own key (AES-256-GCM; a credential of the service, else DIR/secret-key, 0600). */
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
  /**
   * As `page`, for a search over facts, of which there may be very many: it gives way to other work on the way. Throws
   * invalid-value on `sort` where more than 5,000 are found and their order is not that of their making.
   */
  pageInChunks<R extends AnyResource>(resource: R, query: PageQuery): Promise<Page<R>>;
  /**
   * Runs `fn` in a savepoint of the next group commit and resolves after COMMIT. What `fn` throws rejects the promise
   * and undoes `fn` alone. Emergency writes go before all others. One that is safe `with-next` waits for no disk: a power
   * cut may undo it, but nothing that was written after it without it.
   */
  write<T>(fn: (tx: Transaction) => Sync<T>, lane?: "normal" | "emergency", safety?: Durability): Promise<T>;
  /** `prepare`, then one write. */
  create<R extends AnyResource>(
    resource: R,
    input: object,
    by: ActorContext,
    system?: SystemValues<R>,
  ): Promise<RowOf<R>>;
  /** `prepare`, then one write; `check` throws in it to keep the row as it is. */
  update<R extends AnyResource>(
    resource: R,
    id: string,
    input: object,
    by: ActorContext,
    system?: SystemValues<R>,
    check?: (row: RowOf<R>) => void,
  ): Promise<RowOf<R>>;
  /**
   * As the transaction's `remove`, in slices where very many rows depend on the row; `check` throws to keep it. Rows
   * that depend on it go before it does.
   */
  remove<R extends AnyResource>(
    resource: R,
    id: string,
    by: ActorContext,
    check?: (row: RowOf<R>) => void,
  ): Promise<void>;
  /** Throws what `remove` would throw and changes nothing. */
  dryRunRemoval<R extends AnyResource>(
    resource: R,
    id: string,
    by: ActorContext,
    check?: (row: RowOf<R>) => void,
  ): Promise<void>;
  clone<R extends AnyResource>(resource: R, id: string, by: ActorContext): Promise<RowOf<R>>;
  /** Begins a batch of rows of these resources, one at a time in the whole store. Throws ConflictError while another is open. */
  openBatch(id: string, resources: readonly AnyResource[]): Promise<StagedBatch>;
  /**
   * Tells the rows of a batch that was shown to feed, audit, search, events and `afterWrite`, in slices. Goes on where an
   * ended process stopped; does nothing when all was told. Rejects with the signal's reason when that aborts.
   */
  announceBatch(id: string, by: ActorContext, signal?: AbortSignal): Promise<void>;
  hooksFor(resource: AnyResource): ResourceHooks;
  /** Writes a copy of the database to `path`, which must not exist; others read and write meanwhile. */
  backupTo(path: string): Promise<void>;
  /** Resolves once nothing is seen that may yet be undone; at once where nobody else has the rows. */
  whenSettled(): Promise<void>;
  /** This copy of rows that other processes have too; null where nobody has. */
  readonly shared: SharedCopy | null;
  /** Commits what is queued, then closes the file. */
  close(): Promise<void>;
}

/** A copy of rows that other processes have too. */
export interface SharedCopy {
  /** Up to where it has all; 0 for one that was never shared. */
  position(): number;
  /** All that is in it, some at a time, which are all that is held of it. */
  all(): Generator<readonly RowImage[]>;
  /** The row that has a key, null for none; undefined for a table that it does not share. */
  find(table: string, key: string): string | null | undefined;
  /** How many rows each table has that is shared. */
  counts(): ReadonlyMap<string, number>;
  /** Takes what others wrote, some at a time; `taken` is told after each. Throws UpstreamError. */
  catchUp(taken?: () => void): Promise<void>;
  /** It has all up to there: what was written up to then was read from it. */
  setPosition(at: number): void;
}

/** A row that was just written or deleted; one of the two is given, or both. Inner values, secrets sealed. */
export interface CapturedWrite {
  resource: AnyResource;
  before: Readonly<Record<string, unknown>> | null;
  after: Readonly<Record<string, unknown>> | null;
}

/** Takes each written row inside its transaction, but those that another side has: what it throws undoes the write. */
export type ChangeCapture = (written: CapturedWrite, tx: Transaction, by: ActorContext) => void;

/** A table of a room's own, made at start; `sql` is one STRICT `CREATE TABLE IF NOT EXISTS` plus its indexes. */
export interface InternalTable {
  name: string;
  sql: string;
}
