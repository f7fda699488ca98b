import { createReadStream, existsSync, realpathSync, statSync } from "node:fs";
import { join, sep } from "node:path";
import { invalidValue } from "../lib/errors.ts";
import type loadDefinitions from "../resources/loads/load-definitions.ts";
import type { StoredFile } from "../schema/field.ts";
import type { RowOf } from "../schema/resource.ts";
import type { FileStore } from "../store/store.ts";
import { MalformedTableError, readDelimitedRows } from "./delimited-file.ts";
import { type OpenSourceFile, openZipArchive } from "./zip-archive.ts";

export type LoadDefinition = RowOf<typeof loadDefinitions>;

/** A person in a source. */
export interface SourcePerson {
  /** Line of the file. */
  line: number;
  /** Unique key within the source. */
  key: string;
  name: string;
  email: string | null;
  /** Names of lists, without duplicates. */
  lists: readonly string[];
}

/** Location of sources, and receiver of warnings. */
export interface SourceContext {
  /** Reports an ignored part of a table with its line number. */
  warn(line: number, message: string): void;
  /** Folder that contains the paths of definitions. */
  loadsDir: string;
  files: FileStore;
}

/** People of a source in file order. Throws CallerError for a source that is missing or cannot be read. */
export async function* readPeople(definition: LoadDefinition, place: SourceContext): AsyncGenerator<SourcePerson> {
  const path = pathOf(definition, place);
  if (definition.type === "table") {
    const delimiter = /\.csv$/i.test(nameOf(definition)) ? "," : "\t";
    yield* peopleInTable(createReadStream(path), definition, delimiter, place.warn);
    return;
  }
  const source = statSync(path).isDirectory() ? folderSource(path) : await openZipArchive(path);
  try {
    yield* peopleInRoster(source.open);
  } finally {
    source.close();
  }
}

function nameOf({ path, fileName }: LoadDefinition): string {
  return path ?? fileName ?? "";
}

/** Symbolic links that lead out of the folder are rejected. */
function pathOf({ path, fileId }: LoadDefinition, { loadsDir, files }: SourceContext): string {
  if (path === null) {
    if (fileId === null) throw invalidValue("path", "Must be set unless a file is uploaded.");
    return files.pathOf({ sha256: fileId } as StoredFile);
  }
  const full = join(loadsDir, path);
  if (!existsSync(full)) throw invalidValue("path", `${path} was not found in the loads folder.`);
  const real = realpathSync(full);
  if (!real.startsWith(realpathSync(loadsDir) + sep)) throw invalidValue("path", "Must not lead out of the loads folder.");
  return real;
}

function folderSource(folder: string): { open: OpenSourceFile; close(): void } {
  return {
    open: async (name) => (existsSync(join(folder, name)) ? createReadStream(join(folder, name)) : null),
    close: () => undefined,
  };
}

async function* peopleInTable(
  bytes: AsyncIterable<Uint8Array>,
  { mapping }: LoadDefinition,
  delimiter: "\t" | ",",
  warn: SourceContext["warn"],
): AsyncGenerator<SourcePerson> {
  const email = mapping?.email ?? "email";
  const columns = {
    key: mapping?.key ?? email,
    name: mapping?.name ?? "name",
    email,
    lists: mapping?.lists ?? "lists",
  };
  // A misspelled column name in the mapping would empty every address or list.
  const named = [mapping?.email, mapping?.lists].filter((name) => typeof name === "string");
  const required = [...new Set([columns.key, columns.name, ...named])];
  const unreadColumns = warnUnreadColumns(Object.values(columns), warn);
  for await (const { line, cell } of readRecords(bytes, delimiter, required, unreadColumns)) {
    const lists = cell(columns.lists)
      .split(";")
      .map((name) => name.trim());
    const person = { key: cell(columns.key), name: cell(columns.name), email: cell(columns.email) || null };
    yield { line, ...person, lists: [...new Set(lists.filter((name) => name !== ""))] };
  }
}

/** Warns about unread columns and about lines with more cells than the header. */
function warnUnreadColumns(read: readonly string[], warn: SourceContext["warn"]): CellObserver {
  const known = new Set(read.map((name) => name.toLowerCase()));
  let width: number | null = null;
  return (line, cells) => {
    if (width !== null) {
      if (cells.length > width) warn(line, `The line has ${cells.length} cells, the header has ${width}.`);
      return;
    }
    width = cells.length;
    const unread = cells.map((name) => name.trim()).filter((name) => name !== "" && !known.has(name.toLowerCase()));
    for (const name of unread) warn(line, `Column ${name} is ignored: it is not in the mapping.`);
  };
}

/** @source 1EdTech OneRoster 1.1 CSV Tables: orgs, classes, enrollments, users */
async function* peopleInRoster(open: OpenSourceFile): AsyncGenerator<SourcePerson> {
  const schools = new Map<string, string>();
  const classes = new Map<string, string>();
  const places = new Map<string, string[]>();
  await forEachRecord(open, "orgs.csv", ["sourcedId", "name"], (cell) => schools.set(cell("sourcedId"), cell("name")));
  await forEachRecord(open, "classes.csv", ["sourcedId", "title"], (cell) =>
    classes.set(cell("sourcedId"), cell("title")),
  );
  await forEachRecord(open, "enrollments.csv", ["classSourcedId", "userSourcedId"], (cell) => {
    const own = places.get(cell("userSourcedId")) ?? [];
    places.set(cell("userSourcedId"), own);
    own.push(cell("classSourcedId"));
  });
  const bytes = await open("users.csv");
  if (!bytes) throw invalidValue("path", "Must contain a file users.csv.");
  for await (const { line, cell } of readRecords(bytes, ",", ["sourcedId", "givenName", "familyName"])) {
    if (isDeletedRecord(cell)) continue;
    const key = cell("sourcedId");
    const own = cell("orgSourcedIds")
      .split(",")
      .map((id) => schools.get(id.trim()));
    const taken = (places.get(key) ?? []).map((id) => classes.get(id));
    const lists = [...own, ...taken].filter((name): name is string => Boolean(name));
    const name = `${cell("givenName")} ${cell("familyName")}`.trim();
    yield { line, key, name, email: cell("email") || null, lists: [...new Set(lists)] };
  }
}

type Cell = (column: string) => string;

function isDeletedRecord(cell: Cell): boolean {
  return cell("status").toLowerCase() === "tobedeleted" || cell("enabledUser").toLowerCase() === "false";
}

async function forEachRecord(
  open: OpenSourceFile,
  file: string,
  required: readonly string[],
  take: (cell: Cell) => void,
) {
  const bytes = await open(file);
  if (!bytes) return;
  for await (const { cell } of readRecords(bytes, ",", required)) if (!isDeletedRecord(cell)) take(cell);
}

/** Called for each raw line, header first. */
type CellObserver = (line: number, cells: readonly string[]) => void;

/** Lines after the header, cells by column; column names are compared without case. */
async function* readRecords(
  bytes: AsyncIterable<Uint8Array>,
  delimiter: "\t" | ",",
  required: readonly string[],
  onCells?: CellObserver,
): AsyncGenerator<{ line: number; cell: Cell }> {
  let head: Map<string, number> | null = null;
  for await (const { line, cells } of readDelimitedRows(bytes, delimiter)) {
    onCells?.(line, cells);
    if (head === null) {
      head = new Map(cells.map((name, at) => [name.trim().toLowerCase(), at]));
      const missing = required.filter((name) => !head?.has(name.toLowerCase()));
      if (missing.length > 0) throw new MalformedTableError(line, `Missing column ${missing.join(", ")}.`);
      continue;
    }
    const at = head;
    yield { line, cell: (column) => (cells[at.get(column.toLowerCase()) ?? -1] ?? "").trim() };
  }
  if (head === null) throw new MalformedTableError(1, "The file is empty; its first line must name the columns.");
}
