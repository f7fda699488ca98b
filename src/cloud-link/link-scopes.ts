import type { Events } from "../lib/events.ts";
import domains from "../resources/domains/domains.ts";
import type { StoreReader } from "../store/store.ts";
import type { HubSync } from "../sync/hub/hub-sync.ts";
import { scopeEarlierRows } from "../sync/hub/scope-changes.ts";
import { APPLIANCE_DOMAINS, LINK_RECORDS } from "../sync/hub/tables.ts";
import type { ReplicatedTypes } from "../sync/protocol/replicated-types.ts";
import type { SqliteProgramRunner } from "../sync/storage/sqlite-program-runner.ts";
import { getRecord, scanRecords } from "../sync/storage/transaction-program.ts";
import { readableDomains } from "./appliance-authority.ts";

export interface LinkScopesDeps {
  reader: StoreReader;
  runner: SqliteProgramRunner;
  hub: Pick<HubSync, "setScopes">;
  types: ReplicatedTypes;
  events: Events;
  onFault(error: unknown): void;
}

/** Which rows each appliance is sent. */
export interface LinkScopes {
  /** Sets the scopes of all appliances, and again whenever domains change. */
  start(): Promise<void>;
  /** Sets the scopes of one appliance from the domains that it is bound to. */
  update(endpoint: string): Promise<void>;
  stop(): void;
}

/**
 * An appliance that is bound to domains is sent the rows of these and of the domains above, and those of the whole
 * organisation.
 * @source docs/decisions/0491-trust-in-appliances.md
 */
export function createLinkScopes({ reader, runner, hub, types, events, onFault }: LinkScopesDeps): LinkScopes {
  let scoped: Promise<void> | null = null;
  let unsubscribe = (): void => undefined;

  async function update(endpoint: string): Promise<void> {
    const [bound, link] = await runner.read(function* () {
      return [yield* getRecord(APPLIANCE_DOMAINS, endpoint), yield* getRecord(LINK_RECORDS, endpoint)] as const;
    });
    const scopes = bound ? readableDomains(bound.domainIds, reader).sort() : null;
    if (JSON.stringify(scopes) === JSON.stringify(link?.scopes ?? null)) return;
    await scoped;
    await hub.setScopes(endpoint, scopes);
  }

  async function updateAll(): Promise<void> {
    const endpoints = await runner.read(function* () {
      const [bound, links] = [yield* scanRecords(APPLIANCE_DOMAINS), yield* scanRecords(LINK_RECORDS)];
      return new Set([...bound, ...links].map(({ endpoint }) => endpoint));
    });
    for (const endpoint of endpoints) await update(endpoint);
  }

  return {
    async start() {
      scoped = scopeEarlierRows(runner, types);
      scoped.catch(onFault);
      unsubscribe = events.on("row.changed", ({ resource }) => {
        if (resource === domains.name) updateAll().catch(onFault);
      });
      await updateAll();
    },
    update,
    stop: () => unsubscribe(),
  };
}
