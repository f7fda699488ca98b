import { readFileSync } from "node:fs";
import { invalidValue } from "../lib/errors.ts";

/** Certificates (PEM) in the file that `setting` names; null without one. Throws CallerError if it cannot be read. */
export function readAuthorities(setting: string, file: string | null): string | null {
  if (file === null) return null;
  try {
    return readFileSync(file, "utf8");
  } catch {
    throw invalidValue(setting, `Can't read the file ${file}.`);
  }
}
