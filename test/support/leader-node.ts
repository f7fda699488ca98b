import { pino } from "pino";
import { systemClock } from "../../src/lib/clock.ts";
import { UNIQUE_NAMES } from "../../src/sync/hub/tables.ts";
import { createSqliteProgramRunner, type SqliteProgramRunner } from "../../src/sync/storage/sqlite-program-runner.ts";
import { putRecord, scanRecords } from "../../src/sync/storage/transaction-program.ts";
import { joinCluster } from "../../src/wiring/cloud-node/cloud-node.ts";
import { openReplica } from "../../src/wiring/cloud-node/local-replica.ts";

/** A node of a cloud whose turn has come, as the product makes it, which keeps some words. */
export interface LeaderNode {
  database: SqliteProgramRunner;
  /** What its log warned of until then. */
  warnings: readonly string[];
  /** Codes of what its health knows of its copy. */
  healthCodes(): string[];
  note(word: string): Promise<void>;
  /** All words, in their order. */
  notes(): string[];
  end(): Promise<void>;
}

/** Makes it. */
export async function startLeaderNode(of: {
  url: string;
  organisation: string;
  dataDir: string;
  isRestored?: boolean;
}): Promise<LeaderNode> {
  const warnings: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => warnings.push(JSON.parse(line).msg) });
  const options = { ...of, clock: systemClock, log, onStatus: () => undefined, signal: new AbortController().signal };
  const turn = await joinCluster(options);
  const { store, catalogue, access, close } = await openReplica(turn.sharedLog, options, false);
  const database = createSqliteProgramRunner(store, catalogue, access.systemContext("test"));
  return {
    database,
    warnings,
    healthCodes: () => turn.healthSource().map(({ code }) => code),
    note: (word) => database.transact(() => putRecord(UNIQUE_NAMES, { type: "notes", name: word, id: word })),
    notes: () => database.readSync(() => scanRecords(UNIQUE_NAMES, { where: ["notes"] })).map(({ id }) => id),
    async end() {
      await close();
      await turn.stop();
    },
  };
}
