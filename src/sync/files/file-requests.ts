import type { FileReference } from "../protocol/frames.ts";
import {
  type Collection,
  defineCollection,
  getRecord,
  putRecord,
  type RowBody,
  scanRecords,
  type TransactionProgram,
} from "../storage/transaction-program.ts";

/** A file that a row or command refers to. */
export interface FileRequest extends FileReference {
  /** The endpoint that has it; empty for the cloud. */
  holder: string;
  /** 0 for files of commands, which are fetched first. */
  rank: number;
  state: "wanted" | "have" | "absent" | "bad";
  /** How often the received bytes did not match the hash. */
  faults: number;
}

function fileRequestCollection(name: string): Collection<FileRequest> {
  return defineCollection<FileRequest>(
    name,
    ["sha256"],
    { sha256: "text", size: "integer", holder: "text", rank: "integer", state: "text", faults: "integer" },
    { open: ["holder", "state", "rank", "sha256"] },
  );
}

/** Files that rows and commands of the cloud refer to. */
export const SITE_FILE_REQUESTS: Collection<FileRequest> = fileRequestCollection("sync_file_requests");
/** Files that rows of the appliances refer to. */
export const HUB_FILE_REQUESTS: Collection<FileRequest> = fileRequestCollection("hub_file");

/** Attempts before a file with wrong content is given up. @source docs/decisions/0300-sync-limits.md */
const MAX_FAULTS = 3;

/** The files in a row. `fields` are its file fields. */
export function filesInBody(body: RowBody | null | undefined, fields: readonly string[]): FileReference[] {
  return fields.flatMap((name) => {
    const held = body?.[name] as Partial<FileReference> | null | undefined;
    return held?.sha256 && typeof held.size === "number" ? [{ sha256: held.sha256, size: held.size }] : [];
  });
}

/** Requests files that were not requested yet; an absent or bad one is tried again. */
export function* requestFiles(
  of: Collection<FileRequest>,
  files: readonly FileReference[],
  { holder, rank }: Pick<FileRequest, "holder" | "rank">,
): TransactionProgram<void> {
  for (const { sha256, size } of files) {
    const known = yield* getRecord(of, sha256);
    if (known && (known.state === "have" || (known.state === "wanted" && known.rank <= rank))) continue;
    const first = known?.state === "wanted" ? Math.min(known.rank, rank) : rank;
    yield* putRecord(of, { sha256, size, holder, rank: first, state: "wanted", faults: 0 });
  }
}

/** The next files to request from a holder, those of commands first. */
export function* nextFileRequests(
  of: Collection<FileRequest>,
  holder: string,
  limit: number,
): TransactionProgram<FileRequest[]> {
  return yield* scanRecords(of, { by: "open", where: [holder, "wanted"], limit });
}

/** Requests files again that were absent the last time. */
export function* retryAbsentFiles(of: Collection<FileRequest>, holder: string): TransactionProgram<void> {
  for (const file of yield* scanRecords(of, { by: "open", where: [holder, "absent"], limit: 1_000 })) {
    yield* putRecord(of, { ...file, state: "wanted" });
  }
}

/** Records the result of a request; a file with wrong content is fetched again, a limited number of times. */
export function* recordFileResult(
  of: Collection<FileRequest>,
  sha256: string,
  result: "have" | "absent" | "other",
): TransactionProgram<FileRequest["state"]> {
  const known = yield* getRecord(of, sha256);
  if (!known) return "absent";
  const faults = known.faults + (result === "other" ? 1 : 0);
  const state = result === "other" ? (faults < MAX_FAULTS ? "wanted" : "bad") : result;
  yield* putRecord(of, { ...known, state, faults });
  return state;
}
