import { pino } from "pino";
import { openCopy } from "../../src/app/hub-copy.ts";
import { joinOrganisation } from "../../src/app/hub-node.ts";
import { systemClock } from "../../src/base/clock.ts";
import { NAMES } from "../../src/replication/hub/tables.ts";
import { createSqliteWork, type SqliteWork } from "../../src/replication/sqlite-work.ts";
import { put, scan } from "../../src/replication/work.ts";

/** A node of a cloud whose turn has come, as the product makes it, which keeps some words. */
export interface JoinedNode {
  work: SqliteWork;
  /** What its log warned of until then. */
  warnings: readonly string[];
  /** Codes of what its health knows of its copy. */
  faults(): string[];
  note(word: string): Promise<void>;
  /** All words, in their order. */
  notes(): string[];
  end(): Promise<void>;
}

/** Makes it. */
export async function joinedNode(of: {
  url: string;
  organisation: string;
  dataDir: string;
  isRestored?: boolean;
}): Promise<JoinedNode> {
  const warnings: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => warnings.push(JSON.parse(line).msg) });
  const options = { ...of, clock: systemClock, log, onDoing: () => undefined, signal: new AbortController().signal };
  const turn = await joinOrganisation(options);
  const { store, catalogue, access, close } = await openCopy(turn.log, options, false);
  const work = createSqliteWork(store, catalogue, access.systemBy("test"));
  return {
    work,
    warnings,
    faults: () => turn.source().map(({ code }) => code),
    note: (word) => work.transact(() => put(NAMES, { type: "notes", name: word, id: word })),
    notes: () => work.peek(() => scan(NAMES, { where: ["notes"] })).map(({ id }) => id),
    async end() {
      await close();
      await turn.stop();
    },
  };
}
