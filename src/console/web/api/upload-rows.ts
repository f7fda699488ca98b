import type { Row, RowOf } from "./rows.ts";

/** A table of rows that are made together. */
export type UploadRow = RowOf<"BulkUpload">;

/** What became of a line of a table. */
export type UploadLogRow = RowOf<"BulkUploadLog">;

/** A source that people are loaded from. */
export type LoadRow = RowOf<"LoadDefinition">;

/** One load. */
export type LoadRunRow = RowOf<"LoadRun"> & { errors: readonly { line: number | null; message: string }[] | null };

/** A file of an extension. */
export interface ExtensionFileRow extends Row {
  fileFiles: readonly { fileName: string; size: number }[];
}
