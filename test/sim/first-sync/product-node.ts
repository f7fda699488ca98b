import { seedAlarms } from "../../../src/alarms/alarm-hooks.ts";
import { createLocalTimeContext } from "../../../src/bells/timetables.ts";
import { createApplianceAuthority } from "../../../src/cloud-link/appliance-authority.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import { createEvents, type Events } from "../../../src/lib/events.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { createSsrfGuard } from "../../../src/lib/ssrf-guard.ts";
import { createAccessControl } from "../../../src/permissions/access-control.ts";
import { extensionHooks } from "../../../src/plugin-host/extension-hooks.ts";
import { ONPREM_EXTENSION_ID } from "../../../src/resources/devices/on-premises-extension.ts";
import domains from "../../../src/resources/domains/domains.ts";
import type { Catalogue } from "../../../src/schema/catalogue.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { ActorContext, ChangeCapture, ResourceHooks, Store } from "../../../src/store/store.ts";
import {
  createSqliteProgramRunner,
  type SqliteProgramRunner,
} from "../../../src/sync/storage/sqlite-program-runner.ts";
import { machineZoneData } from "../../../src/time-zones/zone-data.ts";
import { bindHooks } from "../../../src/wiring/hooks.ts";
import { seedInitialData, writeAdministrator } from "../../../src/wiring/init.ts";
import { readLocalEndpoint } from "../../../src/wiring/local-endpoint.ts";
import { INTERNAL_TABLES } from "../../../src/wiring/schema.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

/** The database of an appliance or a cloud with all declarations, checks and hooks of the product. */
export interface ProductNode {
  store: Store;
  catalogue: Catalogue;
  events: Events;
  runner: SqliteProgramRunner;
  by: ActorContext;
  recording: { recorder: ChangeCapture | null };
  /** Ids of the initial rows. */
  endpointId: string;
  domainId: string;
  extensionId: string;
  close(): Promise<void>;
}

export interface ProductNodeOptions {
  catalogue: Catalogue;
  clock: Clock;
  isHub: boolean;
  /** Address of its first administrator; null for data that are there already. */
  administrator: string | null;
  /** Called with an empty database, before the initial rows are written. */
  prepare?(node: Pick<ProductNode, "runner" | "recording">): Promise<void>;
  /** Folder of the data; in memory unless given. */
  dataDir?: string;
  failed(error: unknown): void;
}

/** Opens one, with the initial rows of every appliance if it is new. */
export async function openProductNode(options: ProductNodeOptions): Promise<ProductNode> {
  const { catalogue, clock, isHub } = options;
  const events = createEvents(options.failed);
  const recording: ProductNode["recording"] = { recorder: null };
  const hooks: Record<string, ResourceHooks> = {};
  const store = openStore({
    ...{ dataDir: options.dataDir ?? makeTempDir(), inMemory: options.dataDir === undefined },
    ...{ catalogue, hooks, clock, events, recording, log: silentLog, onFatal: options.failed },
    tables: INTERNAL_TABLES,
  });
  const access = createAccessControl({ store, catalogue, clock, events });
  const by = access.systemContext("replication");
  const runner = createSqliteProgramRunner(store, catalogue, by, isHub ? createApplianceAuthority(catalogue) : null);
  Object.assign(hooks, productHooks(store, catalogue, clock, by));
  await options.prepare?.({ runner, recording });
  const { administrator } = options;
  const first =
    administrator === null
      ? readInitialIds(store)
      : await store.write((tx) => {
          const initial = seedInitialData(tx, by);
          writeAdministrator(tx, by, { email: administrator, passwordHash: "hash", now: clock.now() });
          seedAlarms(tx, by);
          return initial;
        });
  const close = async (): Promise<void> => {
    access.close();
    await store.close();
  };
  return { store, catalogue, events, runner, by, recording, ...first, close };
}

function readInitialIds(store: Store): Pick<ProductNode, "endpointId" | "domainId" | "extensionId"> {
  const [domain] = store.find(domains, { parentId: null }, 1);
  const endpointId = readLocalEndpoint(store);
  if (!domain || endpointId === null) throw new Error("The data have no domain or no endpoint.");
  return { endpointId, domainId: domain.id, extensionId: ONPREM_EXTENSION_ID };
}

/** The hooks that the product binds. Nothing rings or is sent, so its schedulers and plugins are left out. */
function productHooks(
  store: Store,
  catalogue: Catalogue,
  clock: Clock,
  by: ActorContext,
): Record<string, ResourceHooks> {
  const noCounts = { of: () => new Map(), idle: async () => undefined };
  return bindHooks({
    ...{ clock, catalogue, files: store.files, policy: createSsrfGuard({ allowedTargets: [] }) },
    endpoint: {
      ownId: () => "",
      health: { report: () => ({ status: "GREEN", redReasons: [], yellowReasons: [], since: 0 }) } as never,
      ...{ buildInfo: () => ({}) as never, failover: (() => ({})) as never, clock: (() => ({})) as never },
    },
    registry: { groupCounts: noCounts, activationCounts: noCounts },
    isReachable: () => false,
    bells: createLocalTimeContext({ ownZone: () => "Europe/Berlin", data: machineZoneData() }),
    plugins: {
      ...{ manifests: [], findProvider: () => "ip-phones", profileSchema: () => null },
      extensionHooks: extensionHooks({
        ...{
          config: () => null,
          status: () => ({}),
          watches: () => [],
          installation: () => null,
          onSettingsWritten: () => undefined,
        },
      }),
    },
    baseUrl: () => "http://localhost",
    planner: { replan: () => undefined, markDirty: () => undefined, revalidate: () => undefined } as never,
    reportsSite: true,
    systemBy: () => by,
    phoneNumberPolicy: { country: null, allowedPrefixes: null },
  });
}
