import { BugError } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
import endpoints from "../resources/devices/endpoints.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import type { Store, StoreReader, Transaction } from "../store/store.ts";
import { SYNC_STATE } from "../sync/site/tables.ts";

/** Endpoint id of this appliance, needed for every message: cached until endpoints change. */
export function trackLocalEndpoint(store: Store, events: Events): { id(): string; stop(): void } {
  let cachedId: string | null = null;
  const invalidate = (): void => {
    cachedId = null;
  };
  const unsubscribers = [
    events.on("row.changed", ({ resource }) => resource === endpoints.name && invalidate()),
    events.on("batch.published", invalidate),
  ];
  return {
    id() {
      cachedId ??= readLocalEndpoint(store);
      if (cachedId === null) throw new BugError("The appliance has no endpoint.");
      return cachedId;
    },
    stop: () => {
      for (const unsubscribe of unsubscribers) unsubscribe();
    },
  };
}

/** Name in `store_meta`, which belongs to this machine alone. */
const META_NAME = "endpoint";

/** Stores which endpoint this appliance is. */
export function storeLocalEndpoint(tx: Pick<Transaction, "run">, endpointId: string): void {
  tx.run("INSERT OR REPLACE INTO store_meta (name, value) VALUES (?, ?)", META_NAME, endpointId);
}

/**
 * The endpoint of this appliance: the stored one. Data of earlier releases name it in the link; without one there is only
 * the endpoint that was created first, as those of others arrive through a link. Null without any endpoint.
 */
export function readLocalEndpoint(reader: StoreReader): string | null {
  const stored = reader.one<{ value: string }>("SELECT value FROM store_meta WHERE name = ?", META_NAME)?.value;
  if (stored !== undefined) return stored;
  const linked = hasTable(reader, SYNC_STATE.name)
    ? reader.one<{ endpoint: string }>(`SELECT endpoint FROM ${SYNC_STATE.name}`)?.endpoint
    : undefined;
  return linked ?? reader.find(endpoints, { extensionId: ONPREM_EXTENSION_ID }, 1)[0]?.id ?? null;
}

function hasTable(reader: StoreReader, name: string): boolean {
  return reader.one("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", name) !== null;
}
