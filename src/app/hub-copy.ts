import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Clock, sleep } from "../base/clock.ts";
import { UpstreamError } from "../base/errors.ts";
import { createEvents } from "../base/events.ts";
import type { Log } from "../base/log.ts";
import { isNewer } from "../base/versions.ts";
import type { Organisation } from "../replication/hub/postgres/organisation.ts";
import type { SharedLog } from "../store/shared-log.ts";
import type { SharedCopy } from "../store/store.ts";
import { type ApplianceData, isSetUp, openData } from "./appliance.ts";
import type { NodeDoing } from "./hub-doing.ts";
import { type CopyFaults, keptName } from "./hub-faults.ts";
import { giveAll, makeWhole } from "./hub-whole.ts";
import { loadDeclarations, OWN_DECLARATIONS } from "./load-declarations.ts";
import { ROOM_TABLES } from "./room-tables.ts";
import { ownVersion } from "./version.ts";

/** What a node keeps its copy of the organisation with. */
export interface CopyOptions {
  dataDir: string;
  /** The organisation's name. */
  organisation: string;
  clock: Clock;
  log: Log;
  /** The database was brought back from a backup: what copies have beyond it does not count. */
  isRestored?: boolean;
  /** Told what the node does before it acts: often while it gets on with work. */
  onDoing(doing: NodeDoing): void;
  faults: Pick<CopyFaults, "found">;
}

const LOOK_MS = 1_000;
/** Name of the file beside the copy that says of which history it is. */
const HISTORY_FILE = "copy-of";
/** Stands there for a copy that has rows which the database lacks, and lacks others: it is kept when it is made anew. */
const PARTED = "parted";
/** Stands there before the history that a node begins by bringing its rows, until it has noted that they are there. */
const BRINGING = "bringing ";

/** Opens the folder as a copy; one that follows is written by other nodes alone. */
export async function openCopy(
  shared: SharedLog,
  { dataDir, clock, log }: Pick<CopyOptions, "dataDir" | "clock" | "log">,
  follows: boolean,
): Promise<ApplianceData> {
  const onFault = (error: unknown): void => log.error({ err: error }, "the copy of the organisation failed");
  return openData({
    ...{ dataDir, clock, log, tables: ROOM_TABLES, behaviours: {}, shared, follows, onFatal: onFault },
    declarations: await loadDeclarations([OWN_DECLARATIONS]),
    events: createEvents(onFault),
  });
}

/** Throws UpstreamError for rows of a later version: this one would leave out what it does not know of them. */
export function requireKnown(version: string | null): void {
  if (!isLater(version)) return;
  const message = `The organisation was written by Carillon ${version}; this is ${ownVersion()}. Upgrade this node first.`;
  throw new UpstreamError("starting", message);
}

const isLater = (version: string | null): boolean => version !== null && isNewer(version, ownVersion());

/**
 * Removes a copy that can't be brought up to date. Throws UpstreamError where the folder holds something else, or what the
 * database has lost, and for rows of a later version.
 */
export async function dropStale(organisation: Organisation, options: CopyOptions): Promise<void> {
  const { dataDir, isRestored } = options;
  if (!existsSync(join(dataDir, "carillon.db"))) return;
  const { seq, floor, history, version } = await organisation.head();
  const data = await openCopy(organisation.log, options, true);
  const at = data.store.shared?.at() ?? 0;
  const isOwn = at === 0 && isSetUp(data.store);
  await data.close();
  // Nobody else knew of that history before the rows were there, and they came all at once.
  const isBrought = historyOf(dataDir) === BRINGING + history;
  if (isOwn && seq > 0 && !isBrought) throw notEmpty(dataDir, options.organisation);
  if (isBrought && seq > 0)
    options.log.warn(
      { dataDir },
      "an earlier start brought the rows and ended before it noted that: the copy is made anew",
    );
  if (at > 0 && seq === 0) throw emptied(dataDir);
  if (seq === 0) return;
  // Some of a later version may have been taken already.
  if (!isLater(version) && !isRestored && historyOf(dataDir) === history) {
    if (at > seq) throw behind(dataDir);
    if (at >= floor) return;
  }
  removeCopy(options);
  requireKnown(version);
}

/** One that has what the database lacks is kept under another name, for somebody to look into. */
function removeCopy({ dataDir, clock, log }: CopyOptions): void {
  const isKept = historyOf(dataDir) === PARTED;
  const kept = join(dataDir, keptName(clock.now()));
  for (const end of ["", "-wal", "-shm"]) {
    const path = join(dataDir, `carillon.db${end}`);
    if (isKept && existsSync(path)) renameSync(path, `${kept}${end}`);
    else rmSync(path, { force: true });
  }
  if (isKept)
    log.error({ kept }, "the copy is made anew; what the organisation's database lacks stands in the one kept");
}

const FAULTS = {
  less: "the copy lacks rows that the organisation's database has",
  parted: "the organisation's database lacks rows that the copy has, and the copy others",
};

/**
 * Takes what the acting node writes until this one acts, when `acting` resolves, and has all then; the first node brings
 * what it has. False when the copy has become stale meanwhile.
 */
export async function follow(
  organisation: Organisation,
  acting: Promise<void>,
  options: CopyOptions,
): Promise<boolean> {
  const { dataDir, clock, log, onDoing } = options;
  const began = await organisation.head();
  const data = await openCopy(organisation.log, options, true);
  noteHistory(dataDir, began.history);
  const { shared } = data.store;
  const isEmpty = shared?.at() === 0;
  let isActing = false;
  let isStale = false;
  let areFilesDue = true;
  let standsBy = false;
  /** Up to where it was told of all that is gone. */
  let certain = shared?.at() ?? 0;
  const forgot = (floor: number): boolean => {
    if (floor <= began.floor || certain >= floor) return false;
    noteHistory(dataDir, "");
    isStale = true;
    return true;
  };
  const catchUp = async (): Promise<void> => {
    const { history, seq, floor, version } = await organisation.head();
    const isFirst = began.seq === 0 && seq > 0;
    const at = shared?.at() ?? 0;
    isStale = history !== began.history || seq < at || isFirst || isLater(version);
    // Where it did not hear the database for long, nobody tells it any more which of its rows are gone.
    if (isStale || forgot(floor)) return;
    // Of one that stands by only what takes long before it acts is news.
    const tell = isActing || !standsBy ? onDoing : () => undefined;
    await shared?.catchUp(() => tell({ doing: "takes-rows", done: shared.at(), of: seq }));
    const isNews = (shared?.at() ?? 0) > at;
    // Nor where that was forgotten while it took the news, behind which it stands now.
    if (isNews && forgot((await organisation.head()).floor)) return;
    certain = shared?.at() ?? 0;
    // They are there before a row names them.
    areFilesDue ||= isNews;
    if (areFilesDue) await organisation.files.fetchMissing((done, of) => tell({ doing: "takes-files", done, of }));
    areFilesDue = false;
    if (isActing || standsBy) return;
    standsBy = true;
    onDoing({ doing: "stands-by" });
  };
  let hear = (): void => undefined;
  organisation.onNews(() => hear());
  try {
    const begun = acting.then(() => {
      isActing = true;
    });
    while (!isActing && !isStale) {
      const news = new Promise<void>((resolve) => {
        hear = resolve;
      });
      // Who may act at once stands by for nobody, and others are asked no sooner than that is known.
      await Promise.race([begun, sleep(clock, standsBy ? LOOK_MS : LOOK_MS / 2), news]);
      if (!isActing) await catchUp().catch((error: unknown) => log.warn({ err: error }, "it does not follow"));
    }
    if (isActing && shared && began.seq === 0 && (await organisation.head()).seq === 0) {
      await beginWith(organisation, shared, options);
    } else if (isActing) await catchUp();
    if (isStale || !shared) return !isStale;
    const wholeness = await makeWhole(organisation, shared, options);
    if (wholeness === "whole") return true;
    log.error({ dataDir, isEmpty }, FAULTS[wholeness]);
    options.faults.found(wholeness, isEmpty);
    // It was just made: making it anew would not help, and a cloud that acts is better than none.
    if (isEmpty) return true;
    noteHistory(dataDir, wholeness === "parted" ? PARTED : "");
    return false;
  } finally {
    await data.close();
  }
}

/**
 * Makes this copy's rows the organisation's first ones. They come into sight with a history that was begun for them, and
 * which this folder alone notes before: whoever ends in between knows by it at the next start whether they are there.
 */
async function beginWith(organisation: Organisation, copy: SharedCopy, options: CopyOptions): Promise<void> {
  const { dataDir } = options;
  await organisation.acting.beginHistory();
  const { history } = await organisation.head();
  noteHistory(dataDir, BRINGING + history);
  await giveAll(organisation, copy, options);
  noteHistory(dataDir, history);
}

/** Notes of which of the organisation's histories the copy is; it is on the disk then. */
export function noteHistory(dataDir: string, history: string): void {
  const path = join(dataDir, HISTORY_FILE);
  const file = openSync(path, "w", 0o600);
  try {
    writeFileSync(file, history);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function historyOf(dataDir: string): string | null {
  const path = join(dataDir, HISTORY_FILE);
  return existsSync(path) ? readFileSync(path, "utf8") : null;
}

function notEmpty(dataDir: string, name: string): UpstreamError {
  const message = `The data in ${dataDir} is none of the organisation "${name}", which is in the database already: give an empty folder with its secret-key.`;
  return new UpstreamError("starting", message, { dataDir });
}

function emptied(dataDir: string): UpstreamError {
  const message = `The folder ${dataDir} holds a copy of an organisation, and the database holds nothing of it: bring back its backup, then say --restored once, at one node.`;
  return new UpstreamError("starting", message, { dataDir });
}

function behind(dataDir: string): UpstreamError {
  const message = `The database stands behind the copy in ${dataDir}: was it brought back from a backup? Then say --restored once, at one node.`;
  return new UpstreamError("starting", message, { dataDir });
}
