import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import type { Events } from "../lib/events.ts";
import devices from "../resources/devices/devices.ts";
import type { ActorContext, Store } from "../store/store.ts";
import { type FilterDeviceRow, toFilterableDevice } from "./group-scan.ts";
import { type LicencePredicates, licenceFilterKey, parseLicenceFilters } from "./licence-filters.ts";

export interface LicensingDeps {
  store: Store;
  clock: Clock;
  events: Events;
  by: ActorContext;
  onError(error: unknown): void;
}

/** Keeps `isLicensed` of devices in line with changed licence filters. */
export interface Licensing {
  /** Starts, beginning with work that an earlier run left. */
  start(): void;
  /** Resolves when no work is in progress. */
  stop(): Promise<void>;
}

interface EndpointLine {
  id: string;
  pk: number;
  config: string | null;
  licensed_by: string | null;
}

/** Devices per transaction: some ms. */
const CHUNK_SIZE = 100;

/**
 * Evaluates all devices of an endpoint after a change of its licence filters, in time slices; a device that is written is
 * evaluated by its own hooks. The endpoint row stores the filters that its devices were evaluated with, so a crash loses
 * nothing.
 */
export function createLicensing(deps: LicensingDeps): Licensing {
  const { store, events, onError } = deps;
  let stopped = false;
  let rerun = false;
  let running: Promise<void> | null = null;
  const run = async (): Promise<void> => {
    do {
      rerun = false;
      for (const endpoint of endpointsWithChangedFilters(store))
        await updateLicensedFlags(endpoint, deps, () => stopped || rerun);
    } while (rerun && !stopped);
  };
  const wake = (): void => {
    rerun = true;
    running ??= run()
      .catch(onError)
      .finally(() => {
        running = null;
      });
  };
  let unsubscribe = (): void => {};
  return {
    start() {
      unsubscribe = events.on("row.changed", ({ resource, op }) => {
        if (resource === "endpoints" && op !== "delete" && !stopped) wake();
      });
      wake();
    },
    async stop() {
      stopped = true;
      unsubscribe();
      await running;
    },
  };
}

function endpointsWithChangedFilters(store: Store): EndpointLine[] {
  const lines = store.all<EndpointLine>("SELECT id, pk, config, licensed_by FROM endpoints");
  return lines.filter(({ config, licensed_by }) => filterKeyOf(config) !== (licensed_by ?? ""));
}

function filterKeyOf(config: string | null): string {
  return licenceFilterKey(config === null ? null : JSON.parse(config));
}

async function updateLicensedFlags(endpoint: EndpointLine, deps: LicensingDeps, isOver: () => boolean): Promise<void> {
  const { store, clock, by } = deps;
  const tests = parseLicenceFilters(endpoint.config === null ? null : JSON.parse(endpoint.config));
  for (let after: number | null = 0; after !== null; ) {
    if (isOver()) return;
    const from: number = after;
    after = await store.write((tx) => {
      const lines = tx.all<FilterDeviceRow & { id: string; is_licensed: number | null }>(
        `SELECT pk, id, icop_id, device_identifier, description, type, attributes, is_licensed FROM devices
         WHERE endpoint_pk = ? AND pk > ? ORDER BY pk LIMIT ${CHUNK_SIZE}`,
        ...[endpoint.pk, from],
      );
      for (const line of lines) {
        const isLicensed = includes(tests, line);
        if (isLicensed !== (line.is_licensed !== 0)) tx.update(devices, line.id, {}, by, { isLicensed });
      }
      const last = lines.length < CHUNK_SIZE ? null : (lines.at(-1)?.pk ?? null);
      if (last === null)
        tx.run("UPDATE main.endpoints SET licensed_by = ? WHERE pk = ?", filterKeyOf(endpoint.config), endpoint.pk);
      return last;
    });
    await yieldToEventLoop(clock);
  }
}

function includes(tests: LicencePredicates, line: FilterDeviceRow): boolean {
  const device = toFilterableDevice(line);
  return tests[device.type]?.(device) ?? true;
}
