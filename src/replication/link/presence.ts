import type { Clock, Timer } from "../../base/clock.ts";
import type { Reader } from "../../store/store.ts";
import type { ToldStatus } from "../talk.ts";
import { type Collection, collection, get, put, scan, type Work, type WorkStore } from "../work.ts";

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
  told: ToldStatus | null;
}

/** Appliances that were ever linked. */
export const PRESENCES: Collection<Presence> = collection<Presence>("hub_presence", ["endpoint"], {
  endpoint: "text",
  version: "text",
  since: "integer",
  heardAt: "integer",
  told: "json",
});

/** When an appliance was there last; null for one that never was. */
export function readPresence(reader: Pick<Reader, "one">, endpoint: string): Omit<Presence, "endpoint"> | null {
  const found = reader.one<Omit<Presence, "endpoint" | "told"> & { told: string | null }>(
    `SELECT version, "since", heardAt, told FROM ${PRESENCES.name} WHERE endpoint = ?`,
    endpoint,
  );
  return found && { ...found, told: found.told === null ? null : (JSON.parse(found.told) as ToldStatus) };
}

/** What is known of the comings and goings of appliances. */
export interface PresenceBook {
  came(endpoint: string, version: string | null): void;
  went(endpoint: string): void;
  told(endpoint: string, status: ToldStatus): void;
  stop(): void;
}

/** own choice: a cloud that was cut off is wrong about it by no more */
const NOTED_EVERY_MS = 60_000;

/** Keeps the book; `connected` are those whose link stands. */
export function createPresenceBook(needs: {
  store: WorkStore;
  clock: Pick<Clock, "now" | "every">;
  connected(): readonly string[];
  onFault(error: unknown): void;
}): PresenceBook {
  const { store, clock, connected } = needs;
  const keep = (work: () => Work<void>): void => void store.transact(work).catch(needs.onFault);
  const timer: Timer = clock.every(NOTED_EVERY_MS, () => {
    const endpoints = connected();
    if (endpoints.length > 0) keep(() => noteThere(endpoints, clock.now()));
  });
  return {
    came(endpoint, version) {
      const at = clock.now();
      keep(function* () {
        const told = (yield* get(PRESENCES, endpoint))?.told ?? null;
        yield* put(PRESENCES, { endpoint, version, since: at, heardAt: at, told });
      });
    },
    went(endpoint) {
      const at = clock.now();
      keep(function* () {
        const found = yield* get(PRESENCES, endpoint);
        if (found) yield* put(PRESENCES, { ...found, since: at, heardAt: at });
      });
    },
    told(endpoint, { health, reasons, since, unsent, unsentSince }) {
      const at = clock.now();
      keep(function* () {
        const found = yield* get(PRESENCES, endpoint);
        const told = { health, reasons, since, unsent, unsentSince };
        if (found && JSON.stringify(found.told) !== JSON.stringify(told))
          yield* put(PRESENCES, { ...found, heardAt: at, told });
      });
    },
    stop: () => timer.cancel(),
  };
}

function* noteThere(endpoints: readonly string[], now: number): Work<void> {
  for (const found of yield* scan(PRESENCES)) {
    if (endpoints.includes(found.endpoint)) yield* put(PRESENCES, { ...found, heardAt: now });
  }
}
