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

/** When an appliance was there last, and what runs on it. */
export interface Presence {
  endpoint: string;
  /** Version of its software; null where it did not say. */
  version: string | null;
  /** Since when its link stands, or has ended; epoch ms. */
  since: number;
  /** When it was there last, to the minute while its link stands. */
  heardAt: number;
  /** How it was when it said so last; null before. */
  told: ReportedStatus | null;
}

/** Appliances that were ever linked. */
export const PRESENCES: Collection<Presence> = defineCollection<Presence>("hub_presence", ["endpoint"], {
  endpoint: "text",
  version: "text",
  since: "integer",
  heardAt: "integer",
  told: "json",
});

/** When an appliance was there last; null for one that never was. */
export function readPresence(reader: Pick<StoreReader, "one">, endpoint: string): Omit<Presence, "endpoint"> | null {
  const found = reader.one<Omit<Presence, "endpoint" | "told"> & { told: string | null }>(
    `SELECT version, "since", heardAt, told FROM ${PRESENCES.name} WHERE endpoint = ?`,
    endpoint,
  );
  return found && { ...found, told: found.told === null ? null : (JSON.parse(found.told) as ReportedStatus) };
}

/** What is known of the comings and goings of appliances. */
export interface PresenceStore {
  recordConnected(endpoint: string, version: string | null): void;
  recordDisconnected(endpoint: string): void;
  recordStatus(endpoint: string, status: ReportedStatus): void;
  stop(): void;
}

/** own choice: a cloud that was cut off is wrong about it by no more */
const SEEN_UPDATE_MS = 60_000;

/** Keeps the book; `connected` are those whose link stands. */
export function createPresenceStore(needs: {
  store: TransactionStore;
  clock: Pick<Clock, "now" | "every">;
  connected(): readonly string[];
  onFault(error: unknown): void;
}): PresenceStore {
  const { store, clock, connected } = needs;
  const keep = (work: () => TransactionProgram<void>): void => void store.transact(work).catch(needs.onFault);
  const timer: Timer = clock.every(SEEN_UPDATE_MS, () => {
    const endpoints = connected();
    if (endpoints.length > 0) keep(() => recordSeen(endpoints, clock.now()));
  });
  return {
    recordConnected(endpoint, version) {
      const at = clock.now();
      keep(function* () {
        const told = (yield* getRecord(PRESENCES, endpoint))?.told ?? null;
        yield* putRecord(PRESENCES, { endpoint, version, since: at, heardAt: at, told });
      });
    },
    recordDisconnected(endpoint) {
      const at = clock.now();
      keep(function* () {
        const found = yield* getRecord(PRESENCES, endpoint);
        if (found) yield* putRecord(PRESENCES, { ...found, since: at, heardAt: at });
      });
    },
    recordStatus(endpoint, { health, reasons, since, unsent, unsentSince }) {
      const at = clock.now();
      keep(function* () {
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
