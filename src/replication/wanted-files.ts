import type { FileName } from "./frames.ts";
import { type Body, type Collection, collection, get, put, scan, type Work } from "./work.ts";

/** A file that a row or a command names. */
export interface WantedFile extends FileName {
  /** Who has it: an endpoint, or empty for the cloud. */
  holder: string;
  /** 0 for those of commands, which are fetched first. */
  rank: number;
  state: "wanted" | "have" | "absent" | "bad";
  /** How often other bytes came than its name says. */
  faults: number;
}

function wantedFiles(name: string): Collection<WantedFile> {
  return collection<WantedFile>(
    name,
    ["sha256"],
    { sha256: "text", size: "integer", holder: "text", rank: "integer", state: "text", faults: "integer" },
    { open: ["holder", "state", "rank", "sha256"] },
  );
}

/** Files that the cloud's rows and commands name. */
export const SITE_FILES: Collection<WantedFile> = wantedFiles("repl_file");
/** Files that the appliances' rows name. */
export const HUB_FILES: Collection<WantedFile> = wantedFiles("hub_file");

/** So often a file is fetched anew whose bytes are others than its name says. own choice */
const MOST_FAULTS = 3;

/** The files that a row holds. `fields` are its fields of that kind. */
export function filesIn(body: Body | null | undefined, fields: readonly string[]): FileName[] {
  return fields.flatMap((name) => {
    const held = body?.[name] as Partial<FileName> | null | undefined;
    return held?.sha256 && typeof held.size === "number" ? [{ sha256: held.sha256, size: held.size }] : [];
  });
}

/** Notes that files are to be fetched, if they never were. One that was absent, or was wrong, may be there now. */
export function* wantFiles(
  of: Collection<WantedFile>,
  files: readonly FileName[],
  { holder, rank }: Pick<WantedFile, "holder" | "rank">,
): Work<void> {
  for (const { sha256, size } of files) {
    const known = yield* get(of, sha256);
    if (known && (known.state === "have" || (known.state === "wanted" && known.rank <= rank))) continue;
    const first = known?.state === "wanted" ? Math.min(known.rank, rank) : rank;
    yield* put(of, { sha256, size, holder, rank: first, state: "wanted", faults: 0 });
  }
}

/** Files to ask a holder for, those of commands first. */
export function* nextWanted(of: Collection<WantedFile>, holder: string, limit: number): Work<WantedFile[]> {
  return yield* scan(of, { by: "open", where: [holder, "wanted"], limit });
}

/** Asks for what was not there the last time once more. */
export function* wantAbsent(of: Collection<WantedFile>, holder: string): Work<void> {
  for (const file of yield* scan(of, { by: "open", where: [holder, "absent"], limit: 1_000 })) {
    yield* put(of, { ...file, state: "wanted" });
  }
}

/** Notes what came of a file; other bytes than it should have are fetched anew, but not for ever. */
export function* noteFile(
  of: Collection<WantedFile>,
  sha256: string,
  came: "have" | "absent" | "other",
): Work<WantedFile["state"]> {
  const known = yield* get(of, sha256);
  if (!known) return "absent";
  const faults = known.faults + (came === "other" ? 1 : 0);
  const state = came === "other" ? (faults < MOST_FAULTS ? "wanted" : "bad") : came;
  yield* put(of, { ...known, state, faults });
  return state;
}
