import { createHash } from "node:crypto";
import { UploadedFile } from "../../schema/uploaded-file.ts";

/**
 * SHA-256 (hex) of a decoded body, independent of its encoding (JSON, form, multipart) and of the field order. A file
 * counts by its content only, because clients may rename it on a retry.
 */
export function bodyHash(body: Readonly<Record<string, unknown>>): string {
  return createHash("sha256")
    .update(JSON.stringify(canonical(body)))
    .digest("hex");
}

function canonical(value: unknown): unknown {
  if (value instanceof UploadedFile) return { sha256: value.file.sha256 };
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, canonical(member)]));
}
