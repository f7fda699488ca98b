import type { Clock, Timer } from "../../lib/clock.ts";
import type { StoreReader } from "../../store/store.ts";
import type { ReportedStatus } from "../protocol/control-messages.ts";
import {
  type Collection,
  defineCollection,
  getRecord,
  putRecord,
  scanRecords,
  type TransactionProgram,
  type TransactionStore,
} from "../storage/transaction-program.ts";

/** Last known connection state and software of an appliance. */
export interface Presence {
  endpoint: string;
  /** Version of its software; null if it was not sent. */
  version: string | null;
  /** When it connected or disconnected; epoch ms. */
  since: number;
  /** When it was last connected, to the minute while it is. */
  heardAt: number;
  /** The status that it reported last; null before. */
  told: ReportedStatus | null;
}

export const PRESENCES: Collection<Presence> = defineCollection<Presence>("hub_presence", ["endpoint"], {
  endpoint: "text",
  version: "text",
  since: "integer",
  heardAt: "integer",
  told: "json",
});

/** Presence of an appliance; null if it was never connected. */
export function readPresence(reader: Pick<StoreReader, "one">, endpoint: string): Omit<Presence, "endpoint"> | null {
  const found = reader.one<Omit<Presence, "endpoint" | "told"> & { told: string | null }>(
    `SELECT version, "since", heardAt, told FROM ${PRESENCES.name} WHERE endpoint = ?`,
    endpoint,
  );
  return found && { ...found, told: found.told === null ? null : (JSON.parse(found.told) as ReportedStatus) };
}

/** Records when appliances connect, disconnect and report their status. */
export interface PresenceStore {
  recordConnected(endpoint: string, version: string | null): void;
  recordDisconnected(endpoint: string): void;
  recordStatus(endpoint: string, status: ReportedStatus): void;
  stop(): void;
}

/** Precision of `heardAt` after a crash of the cloud. @source docs/decisions/0300-sync-limits.md */
const SEEN_UPDATE_MS = 60_000;

/** `connected` returns the ids of the connected appliances. */
export function createPresenceStore(deps: {
  store: TransactionStore;
  clock: Pick<Clock, "now" | "every">;
  connected(): readonly string[];
  onFault(error: unknown): void;
}): PresenceStore {
  const { store, clock, connected } = deps;
  const run = (work: () => TransactionProgram<void>): void => void store.transact(work).catch(deps.onFault);
  const timer: Timer = clock.every(SEEN_UPDATE_MS, () => {
    const endpoints = connected();
    if (endpoints.length > 0) run(() => recordSeen(endpoints, clock.now()));
  });
  return {
    recordConnected(endpoint, version) {
      const at = clock.now();
      run(function* () {
        const told = (yield* getRecord(PRESENCES, endpoint))?.told ?? null;
        yield* putRecord(PRESENCES, { endpoint, version, since: at, heardAt: at, told });
      });
    },
    recordDisconnected(endpoint) {
      const at = clock.now();
      run(function* () {
        const found = yield* getRecord(PRESENCES, endpoint);
        if (found) yield* putRecord(PRESENCES, { ...found, since: at, heardAt: at });
      });
    },
    recordStatus(endpoint, { health, reasons, since, unsent, unsentSince }) {
      const at = clock.now();
      run(function* () {
        const found = yield* getRecord(PRESENCES, endpoint);
        const told = { health, reasons, since, unsent, unsentSince };
        if (found && JSON.stringify(found.told) !== JSON.stringify(told))
          yield* putRecord(PRESENCES, { ...found, heardAt: at, told });
      });
    },
    stop: () => timer.cancel(),
  };
}

function* recordSeen(endpoints: readonly string[], now: number): TransactionProgram<void> {
  for (const found of yield* scanRecords(PRESENCES)) {
    if (endpoints.includes(found.endpoint)) yield* putRecord(PRESENCES, { ...found, heardAt: now });
  }
}
