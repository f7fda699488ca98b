import type { ZoneDataOptions } from "../time-zones/zone-data.ts";
import type { RecordChange, SourceFile, SourceList, SourceMessage, SourcePerson } from "./load-source.ts";
import type { StoredRosterRecord } from "./roster-state.ts";
import type { LoadDefinition } from "./source-files.ts";

/** What the thread that reads sources needs of a definition. */
export type SourceDefinition = Pick<
  LoadDefinition,
  "type" | "path" | "fileName" | "mapping" | "delimiter" | "encoding" | "quote"
>;

/** A source to read. */
export interface SourceRequest {
  kind: "start";
  definition: SourceDefinition;
  /** A file or folder, or the tables of a service by file name. */
  source: { path: string } | { tables: ReadonlyMap<string, Uint8Array> };
  isConfirmed: boolean;
  hasFormerLists: boolean;
  /** Further records to store with the load. */
  changes: readonly RecordChange[];
  /** States of the files of the last load. */
  fileStates: ReadonlyMap<string, string>;
  now: number;
  /** Time zone of the appliance, in which the days of rosters are meant. */
  timeZone: string;
  zoneFolders: ZoneDataOptions;
}

/** A list, and whether anybody is on it. */
export interface ReadList extends SourceList {
  isUsed: boolean;
}

/** The parts of a source, which are handed over in slices. */
export interface SourceParts {
  people: SourcePerson;
  lists: ReadList;
  /** Keys of people whose lines have errors. */
  keptPeople: string;
  changes: RecordChange;
}

/** Figures and messages of the lines that were read. */
export interface SourceFindings {
  linesRead: number;
  linesWithErrors: number;
  /** At most 100 each. */
  errors: SourceMessage[];
  warnings: SourceMessage[];
  files: SourceFile[];
}

/** To the thread. */
export type SourceQuestion =
  | SourceRequest
  | { kind: "records"; rows: readonly StoredRosterRecord[] }
  | { kind: "slice"; part: keyof SourceParts; from: number }
  | { kind: "release" };

/** From the thread. `records` asks for the records of the last load that follow `after`. */
export type SourceAnswer =
  | { kind: "lines"; linesRead: number }
  | { kind: "records"; file: string; after: string }
  | { kind: "read"; people: number; namesAllLists: boolean; findings: SourceFindings }
  | { kind: "slice"; items: readonly SourceParts[keyof SourceParts][] }
  | { kind: "released" }
  | { kind: "failed"; state: "failed" | "stopped"; message: string; isBug: boolean; findings: SourceFindings };
