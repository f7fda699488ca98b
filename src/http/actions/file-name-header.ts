import { invalidValue } from "../../lib/errors.ts";

/** The name in a header `X-File-Name`, which is written as encodeURIComponent does; null without one. */
export function parseFileNameHeader(header: string | null): string | null {
  if (header === null) return null;
  try {
    return [...decodeURIComponent(header)].slice(0, 255).join("");
  } catch {
    throw invalidValue("x-file-name", "Must be percent-encoded UTF-8.");
  }
}
