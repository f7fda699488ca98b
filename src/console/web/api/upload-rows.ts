import type { Row, RowOf } from "./rows.ts";

/** A table of rows that are made together. */
export type UploadRow = RowOf<"BulkUpload">;

/** What became of a line of a table. */
export type UploadLogRow = RowOf<"BulkUploadLog">;

/** A source that people are loaded from. */
export type LoadDefinitionRow = RowOf<"LoadDefinition">;

/** What is wrong with a line of a source; null for the source itself. */
export interface LoadRunMessage {
  line: number | null;
  message: string;
}

/** One load; `warnings` are about what was passed over. */
export type LoadRunRow = RowOf<"LoadRun"> & Record<"errors" | "warnings", readonly LoadRunMessage[] | null>;

/** A file of an extension. */
export interface ExtensionFileRow extends Row {
  fileFiles: readonly { fileName: string; size: number }[];
}
