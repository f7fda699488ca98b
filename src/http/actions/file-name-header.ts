import { invalidValue } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";

/** The percent-encoded file name of the header `X-File-Name`; null without one. */
export function parseFileNameHeader(header: string | null): string | null {
  if (header === null) return null;
  try {
    return [...decodeURIComponent(header)].slice(0, 255).join("");
  } catch {
    throw invalidValue("x-file-name", sentence("field.must-be-percent-encoded-utf-8"));
  }
}
