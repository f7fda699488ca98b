import type { StoredFile } from "./field.ts";

/** An uploaded file on its way into a row: only an instance of this class is taken for a file field. */
export class UploadedFile {
  readonly file: StoredFile;

  constructor(file: StoredFile) {
    this.file = file;
  }
}
