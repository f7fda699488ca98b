import type { Row, RowOf } from "./rows.ts";

/** A table of rows that are made together. */
export type UploadRow = RowOf<"BulkUpload">;

/** What became of a line of a table. */
export type UploadLogRow = RowOf<"BulkUploadLog">;

/** A source that people are loaded from. */
export type LoadDefinitionRow = RowOf<"LoadDefinition">;

/** An error or warning of a source line; null for the source itself. */
export interface LoadRunMessage {
  /** Absent in runs of earlier releases. */
  file?: string | null;
  line: number | null;
  column?: string | null;
  message: string;
}

/** How a file of a source was read. */
export interface LoadRunFile {
  file: string;
  mode: string;
  delimiter: string;
  encoding: string;
  quote: string;
  lines: number;
}

/** One import run; `warnings` are about skipped entries. */
export type LoadRunRow = RowOf<"LoadRun"> &
  Record<"errors" | "warnings", readonly LoadRunMessage[] | null> & { files: readonly LoadRunFile[] | null };

/** A file of an extension. */
export interface ExtensionFileRow extends Row {
  fileFiles: readonly { fileName: string; size: number }[];
}
