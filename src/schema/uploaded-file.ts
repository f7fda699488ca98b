import type { StoredFile } from "./field.ts";

/** An uploaded file before it is stored in a row: only instances of this class are accepted for file fields. */
export class UploadedFile {
  readonly file: StoredFile;

  constructor(file: StoredFile) {
    this.file = file;
  }
}
