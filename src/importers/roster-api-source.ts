import { yieldToEventLoop } from "../lib/clock.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { Store } from "../store/store.ts";
import { LoadAborted, type SourceContext } from "./load-source.ts";
import type { ApiCollection, ApiRecord, OneRosterClient } from "./oneroster-client.ts";
import { ROSTER_FILES } from "./roster-files.ts";
import { createKnownRecords, keepRecords, MANIFEST, readSyncTimes } from "./roster-state.ts";

/** A roster service, read as if it were an archive of the same files, so that every rule of files holds. */
export interface ApiSource {
  /** By file name. */
  tables: ReadonlyMap<string, Buffer>;
  /** Times to be stored with the load. */
  changes: { file: string; id: string; data: string }[];
}

export interface ApiSourceOptions {
  store: Store;
  definitionId: string;
  /** Only changed records are read, and all of them once a week. */
  isIncremental: boolean;
  isConfirmed: boolean;
  context: SourceContext;
  now: number;
}

/** Records that a service deleted without a tombstone are found by a complete load. @source docs/decisions/0548-roster-services.md */
const COMPLETE_EVERY_MS = 7 * 86_400_000;
/** Records converted per turn of the event loop. */
const RECORDS_PER_TURN = 1_000;

const COLLECTIONS = ["academicSessions", "orgs", "classes", "enrollments", "users"] as const;

/** Reads all collections. Throws CallerError, and LoadAborted if a collection is shorter than the service said. */
export async function readRosterService(client: OneRosterClient, options: ApiSourceOptions): Promise<ApiSource> {
  const { store, definitionId, isIncremental, isConfirmed, context, now } = options;
  const known = readSyncTimes(store, definitionId);
  const isDue = known.complete === null || now - Date.parse(known.complete) >= COMPLETE_EVERY_MS;
  const since = isIncremental && !isDue ? known.since : null;
  const mode = since === null ? "bulk" : "delta";
  const tables = new Map<string, Buffer>();
  let newest = known.since ?? "";
  for (const collection of COLLECTIONS) {
    context.signal.throwIfAborted();
    const read = await client.read(collection, since);
    assertComplete(collection, read, isConfirmed);
    if (read.repeated > 0) {
      const message = sentence("roster.records-records-came-more-than-once-because-rows-moved-between", {
        count: read.repeated,
      });
      context.warn({ file: `${collection}.csv`, line: 0, column: null, message });
    }
    for (const { dateLastModified: at } of read.records) {
      if (typeof at === "string" && !Number.isNaN(Date.parse(at)) && Date.parse(at) > (Date.parse(newest) || 0))
        newest = at;
    }
    tables.set(`${collection}.csv`, await toTable(collection, read.records, context));
    if (collection === "users") {
      const roles = read.records.flatMap(rolesOf);
      const lost = since === null ? [] : await lostRoles(read.records, roles, options);
      tables.set("roles.csv", await toTable("roles", [...roles, ...lost], context));
    }
  }
  const manifest = Object.keys(ROSTER_FILES).map((file) => `file.${file},${mode}`);
  tables.set("manifest.csv", Buffer.from(["propertyName,value", ...manifest].join("\n")));
  const changes = newest === "" ? [] : [{ file: MANIFEST, id: "@since", data: newest }];
  if (since === null) changes.push({ file: MANIFEST, id: "@complete", data: new Date(now).toISOString() });
  return { tables, changes };
}

function assertComplete(collection: string, { records, total }: ApiCollection, isConfirmed: boolean): void {
  if (total === null || records.length >= total || isConfirmed) return;
  const said = sentence("roster.collection-the-service-says-that-there-are-total-records-but", {
    collection,
    total,
    sent: records.length,
  });
  throw new LoadAborted("stopped", sentence("roster.confirm-to-go-on", { said }));
}

/** The cells of a record by column of the file. */
type Row = Readonly<Record<string, unknown>>;

/** Columns of every file, beside those that are stored. */
const COMMON = ["sourcedId", "status", "dateLastModified"];

async function toTable(file: string, records: readonly Row[], context: SourceContext): Promise<Buffer> {
  const columns = [
    ...new Set([...COMMON, ...(ROSTER_FILES[file]?.columns ?? []), ...(file === "users" ? ["enabledUser"] : [])]),
  ];
  const lines = [columns.join(",")];
  for (const [at, record] of records.entries()) {
    if (at % RECORDS_PER_TURN === 0) await yieldToEventLoop(context.clock);
    lines.push(columns.map((column) => cell(cellText(file, record, column))).join(","));
  }
  return Buffer.from(`${lines.join("\n")}\n`);
}

function cell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** References of records to others are objects in the service and columns in files. */
const REFERENCES: Readonly<Record<string, string>> = {
  schoolSourcedId: "school",
  termSourcedIds: "terms",
  classSourcedId: "class",
  userSourcedId: "user",
  orgSourcedId: "org",
  orgSourcedIds: "orgs",
  primaryOrgSourcedId: "primaryOrg",
};
const RENAMED: Readonly<Record<string, string>> = {
  preferredGivenName: "preferredFirstName",
  preferredFamilyName: "preferredLastName",
};

function cellText(file: string, record: Row, column: string): string {
  if (file === "users" && column === "role") return mainRole(record);
  const referred = record[REFERENCES[column] ?? ""];
  if (referred !== undefined) {
    return [referred]
      .flat()
      .map((each) => textOf((each as Row | null)?.sourcedId))
      .filter((id) => id !== "")
      .join(",");
  }
  return textOf(record[column] ?? record[RENAMED[column] ?? ""]);
}

function textOf(value: unknown): string {
  return ["string", "number", "boolean"].includes(typeof value) ? String(value) : "";
}

/** Version 1.1 has one role, 1.2 several. */
function mainRole(user: Row): string {
  const primary = rolesIn(user).find(({ roleType }) => roleType === "primary") ?? rolesIn(user)[0];
  return textOf(user.role ?? primary?.role);
}

function rolesIn({ roles }: Row): Row[] {
  return Array.isArray(roles) ? roles.filter((role): role is Row => typeof role === "object" && role !== null) : [];
}

/** Roles have no id of their service. */
function rolesOf(user: ApiRecord): Row[] {
  const isGone = textOf(user.status).toLowerCase() === "tobedeleted";
  return rolesIn(user).map((role) => {
    const org = textOf((role.org as Row | null | undefined)?.sourcedId);
    const id = textOf(user.sourcedId);
    return {
      ...{ sourcedId: `${id} ${org} ${textOf(role.role)}`, status: isGone ? "tobedeleted" : "active" },
      ...{ user: { sourcedId: id }, org: { sourcedId: org }, role: role.role },
      ...{ beginDate: role.beginDate, endDate: role.endDate, dateLastModified: user.dateLastModified },
    };
  });
}

/** Known roles that a changed user no longer has. */
async function lostRoles(
  users: readonly ApiRecord[],
  roles: readonly Row[],
  { store, definitionId, context }: ApiSourceOptions,
): Promise<Row[]> {
  const changed = new Set(users.map(({ sourcedId }) => textOf(sourcedId)));
  const kept = new Set(roles.map(({ sourcedId }) => textOf(sourcedId)));
  const known = await keepRecords(createKnownRecords(store, definitionId), "roles", context.clock);
  return [...known].flatMap(([sourcedId, { record }]) =>
    changed.has(record.userSourcedId ?? "") && !kept.has(sourcedId) ? [{ sourcedId, status: "tobedeleted" }] : [],
  );
}
