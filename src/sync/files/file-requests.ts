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

/** A file that a row or a command names. */
export interface FileRequest extends FileReference {
  /** Who has it: an endpoint, or empty for the cloud. */
  holder: string;
  /** 0 for those of commands, which are fetched first. */
  rank: number;
  state: "wanted" | "have" | "absent" | "bad";
  /** How often other bytes came than its name says. */
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

/** Files that the cloud's rows and commands name. */
export const SITE_FILE_REQUESTS: Collection<FileRequest> = fileRequestCollection("sync_file_requests");
/** Files that the appliances' rows name. */
export const HUB_FILE_REQUESTS: Collection<FileRequest> = fileRequestCollection("hub_file");

/** So often a file is fetched anew whose bytes are others than its name says. own choice */
const MAX_FAULTS = 3;

/** The files that a row holds. `fields` are its fields of that kind. */
export function filesInBody(body: RowBody | null | undefined, fields: readonly string[]): FileReference[] {
  return fields.flatMap((name) => {
    const held = body?.[name] as Partial<FileReference> | null | undefined;
    return held?.sha256 && typeof held.size === "number" ? [{ sha256: held.sha256, size: held.size }] : [];
  });
}

/** Notes that files are to be fetched, if they never were. One that was absent, or was wrong, may be there now. */
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

/** Files to ask a holder for, those of commands first. */
export function* nextFileRequests(
  of: Collection<FileRequest>,
  holder: string,
  limit: number,
): TransactionProgram<FileRequest[]> {
  return yield* scanRecords(of, { by: "open", where: [holder, "wanted"], limit });
}

/** Asks for what was not there the last time once more. */
export function* retryAbsentFiles(of: Collection<FileRequest>, holder: string): TransactionProgram<void> {
  for (const file of yield* scanRecords(of, { by: "open", where: [holder, "absent"], limit: 1_000 })) {
    yield* putRecord(of, { ...file, state: "wanted" });
  }
}

/** Notes what came of a file; other bytes than it should have are fetched anew, but not for ever. */
export function* recordFileResult(
  of: Collection<FileRequest>,
  sha256: string,
  came: "have" | "absent" | "other",
): TransactionProgram<FileRequest["state"]> {
  const known = yield* getRecord(of, sha256);
  if (!known) return "absent";
  const faults = known.faults + (came === "other" ? 1 : 0);
  const state = came === "other" ? (faults < MAX_FAULTS ? "wanted" : "bad") : came;
  yield* putRecord(of, { ...known, state, faults });
  return state;
}
