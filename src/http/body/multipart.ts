import type { IncomingMessage } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import { CallerError, invalidValue } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { camelCase } from "../../schema/decoder.ts";
import type { FileFieldData } from "../../schema/field.ts";
import type { UploadedFile } from "../../schema/uploaded-file.ts";
import type { FileStore } from "../../store/store.ts";
import { readParts } from "./body-parser.ts";
import { nestPairs } from "./bracket-parser.ts";

/** A completely read multipart body. */
interface MultipartBody {
  value: Record<string, unknown>;
  uploads: UploadedFile[];
}

/**
 * Reads a multipart body: strings with nested names; files of `fields` are stored as they arrive, other files are
 * skipped. Throws CallerError and stores nothing in that case.
 */
export async function readMultipart(
  request: IncomingMessage,
  fields: ReadonlyMap<string, FileFieldData>,
  { clock, files }: { clock: Clock; files: FileStore },
): Promise<MultipartBody> {
  const storing = new Map<string, Promise<UploadedFile>>();
  try {
    const texts = await readParts(request, clock, ({ name: given, fileName, bytes }, textOf) => {
      const name = camelCase(given);
      const field = fields.get(name);
      // Browsers send an empty part without a name if no file was selected.
      if (!field || fileName === "") return null;
      if (storing.has(name)) throw invalidValue(name, sentence("field.must-be-a-single-file"));
      const { maxBytes, types } = field;
      // The field `priority` precedes the files: a recording for an emergency is processed first.
      const isUrgent = (): boolean => textOf("priority") === "critical";
      const stored = files.put(bytes, { fileName, maxBytes, types, isUrgent }).catch((error) => {
        throw atField(error, name);
      });
      storing.set(name, stored);
      return stored;
    });
    const entries = [...storing].map(async ([name, stored]) => [name, await stored] as const);
    const uploads = Object.fromEntries(await Promise.all(entries));
    return { value: { ...nestPairs(texts), ...uploads }, uploads: Object.values(uploads) };
  } catch (error) {
    for (const result of await Promise.allSettled(storing.values())) {
      if (result.status === "fulfilled") files.release(result.value, false);
    }
    throw error;
  }
}

function atField(error: unknown, field: string): unknown {
  if (!(error instanceof CallerError) || error.faults.length > 0) return error;
  const { type, message } = error;
  return new CallerError(type, message, [{ field, type, message }]);
}
