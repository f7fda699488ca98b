import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { createEvents, type EventMap, type Events } from "../../src/lib/events.ts";
import { createLog } from "../../src/lib/log.ts";
import type { DeliveryOutcome } from "../../src/notifications/engine/delivery-providers.ts";
import { DEFAULT_PROFILE, type DeliveryItem } from "../../src/plugin-api/index.ts";
import {
  createPluginHost,
  PLUGIN_HOST_TABLES,
  type PluginCallbacks,
  type PluginHost,
  type PluginHostDeps,
} from "../../src/plugin-host/plugin-host.ts";
import endpoints from "../../src/resources/devices/endpoints.ts";
import extensions from "../../src/resources/devices/extensions.ts";
import { ONPREM_EXTENSION_ID, ONPREM_NAME } from "../../src/resources/devices/on-premises-extension.ts";
import { createCatalogue } from "../../src/schema/catalogue.ts";
import { defaultSettings } from "../../src/settings/schema.ts";
import { fullScope } from "../../src/store/full-scope.ts";
import { openStore } from "../../src/store/open-store.ts";
import type { ActorContext, ResourceHooks, Store } from "../../src/store/store.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../src/wiring/load-declarations.ts";

/** Somebody who may do and see everything. */
export const anyActor: ActorContext = {
  actor: { kind: "user", userId: null, name: "test", address: null },
  scope: fullScope(() => null),
};

/** An appliance's store and plugin host, without a pipeline above them. */
export interface TestAppliance {
  store: Store;
  host: Omit<PluginHost, "start"> & { start(): Promise<void> };
  events: Events;
  endpointId: string;
  /** All outcomes so far. */
  outcomes: DeliveryOutcome[];
  /** All `plugin.changed` events so far. */
  changes: EventMap["plugin.changed"][];
  /** Everything logged so far, as text. */
  logged(): string;
  /** Resolves as soon as `probe`, asked after every outcome and every plugin's change, gives something. */
  until<T>(probe: () => T | null | undefined | false): Promise<T>;
  /** Everything but the host's `start`, which is the caller's to await or not. */
  close(): Promise<void>;
}

/** Opens one in `dataDir` over the plugins below `pluginFolder`. Addresses of this machine may be called. */
export async function openAppliance(
  dataDir: string,
  pluginFolder: URL,
  more: Pick<PluginHostDeps, "launch" | "ownPluginFolder"> &
    Partial<Pick<PluginCallbacks, "openStream" | "confirm" | "trigger">> & { clock?: Clock } = {},
): Promise<TestAppliance> {
  const clock = more.clock ?? systemClock;
  const events = createEvents((error) => {
    throw error;
  });
  const lines: string[] = [];
  const log = createLog({ level: "debug", stream: { write: (line) => void lines.push(line) } });
  let behaviour: ResourceHooks<typeof extensions> = {};
  const late: ResourceHooks<typeof extensions> = {
    beforeWrite: (change, tx, by) => behaviour.beforeWrite?.(change, tx, by),
    present: (rows, context) => behaviour.present?.(rows, context) ?? rows.map(() => ({})),
  };
  const store = openStore({
    dataDir,
    catalogue: createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS])),
    hooks: { extensions: late as unknown as ResourceHooks },
    tables: PLUGIN_HOST_TABLES,
    clock,
    events,
    log,
    onFatal: (error) => {
      throw error;
    },
  });
  const onprem = { id: ONPREM_EXTENSION_ID };
  if (!store.get(extensions, onprem.id))
    await store.create(extensions, { name: ONPREM_NAME, type: "endpoint-proxy" }, anyActor, onprem);
  const endpoint =
    store.find(endpoints, {}, 1)[0] ??
    (await store.create(endpoints, { extensionId: onprem.id, name: "here" }, anyActor));

  const outcomes: DeliveryOutcome[] = [];
  const changes: EventMap["plugin.changed"][] = [];
  let waiting: (() => void)[] = [];
  const look = (): void => {
    for (const ask of [...waiting]) ask();
  };
  events.on("plugin.changed", (change) => {
    changes.push(change);
    look();
  });
  const settings = defaultSettings();
  settings.network.allowedTargets = ["127.0.0.0/8"];
  const created = createPluginHost({
    store,
    clock,
    events,
    log,
    settings,
    pluginFolder,
    by: { ...anyActor, actor: { ...anyActor.actor, kind: "system" } },
    endpointId: () => endpoint.id,
    baseUrl: () => "http://127.0.0.1",
    ...more,
  });
  const callbacks: PluginCallbacks = {
    onOutcomes(news) {
      outcomes.push(...news);
      look();
    },
    openStream: async () => {},
    closeStream: () => {},
    voice: { prepare: async () => 1_000, open: async () => {}, say: async () => 1_000, close: () => {} },
    confirm: async () => null,
    receive: async () => ({ kind: "unknown" }),
    trigger: async () => {},
    ...more,
  };
  const host = { ...created, start: () => created.start(callbacks) };
  behaviour = host.extensionHooks;

  return {
    store,
    host,
    events,
    endpointId: endpoint.id,
    outcomes,
    changes,
    logged: () => lines.join(""),
    until: (probe) =>
      new Promise((resolve, reject) => {
        const ask = (): void => {
          try {
            const found = probe();
            if (found === null || found === undefined || found === false) return;
            resolve(found);
          } catch (error) {
            reject(error);
          }
          waiting = waiting.filter((other) => other !== ask);
        };
        waiting.push(ask);
        ask();
      }),
    async close() {
      await host.stop();
      await store.close();
    },
  };
}

/** A text to one device; `of` says what matters to the test. */
export function itemOf(deliveryId: number, of: Partial<DeliveryItem> = {}): DeliveryItem {
  return {
    deliveryId,
    notificationId: "0190a1b2-0000-7000-8000-000000000001",
    device: { id: "0190a1b2-0000-7000-8000-000000000002", deviceIdentifier: "steady:1", attributes: {} },
    priority: 5,
    class: "routine",
    notAfter: Number.MAX_SAFE_INTEGER,
    sentAt: Date.now(),
    expiresAt: null,
    drill: false,
    text: { subject: "Test", body: "This is a test.", short: "Test" },
    imagePath: null,
    audio: null,
    profile: DEFAULT_PROFILE,
    settings: {},
    attempt: 1,
    ...of,
  };
}
