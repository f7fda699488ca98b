import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createAccess } from "../../src/access/access.ts";
import { writeBuiltInProvider } from "../../src/access/identity-providers.ts";
import { createOAuth } from "../../src/access/oauth.ts";
import { createScim } from "../../src/access/scim/scim.ts";
import { createToken } from "../../src/access/tokens.ts";
import type { CompileScope } from "../../src/access/user-scope.ts";
import { writeAlarms } from "../../src/alarms/alarm-behaviour.ts";
import { createAlarms } from "../../src/alarms/alarms.ts";
import { createDetectors } from "../../src/alarms/detectors.ts";
import { ALARM_TABLES } from "../../src/alarms/room-tables.ts";
import { bindBehaviours } from "../../src/app/behaviours.ts";
import { createIdentity } from "../../src/app/identity.ts";
import { loadDeclarations, type Modules, OWN_DECLARATIONS } from "../../src/app/load-declarations.ts";
import { createTelling, type Telling } from "../../src/app/outbound.ts";
import { createRegistry } from "../../src/app/registry.ts";
import { startServer } from "../../src/app/server.ts";
import { createAreas } from "../../src/areas/areas.ts";
import { AREA_TABLES } from "../../src/areas/room-tables.ts";
import { createSpeechEngine } from "../../src/audio/speech-engine.ts";
import { createAddressPolicy } from "../../src/base/address-policy.ts";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { createEvents } from "../../src/base/events.ts";
import { createLog, type Log } from "../../src/base/log.ts";
import { BELL_TABLES } from "../../src/bells/room-tables.ts";
import { createBellTimes } from "../../src/bells/timetables.ts";
import { createAnswerLinks } from "../../src/broadcast/answer-links.ts";
import type { Broadcaster } from "../../src/broadcast/broadcaster.ts";
import { createCampaigns } from "../../src/broadcast/campaigns.ts";
import { createDeclineLinks } from "../../src/broadcast/opt-outs.ts";
import { BROADCAST_TABLES } from "../../src/broadcast/room-tables.ts";
import { createSpeech } from "../../src/broadcast/speech.ts";
import { createGathering } from "../../src/call-manager/gathering.ts";
import { CALL_MANAGER_TABLES } from "../../src/call-manager/kept-plan.ts";
import { createPhoneCache } from "../../src/call-manager/phone-cache.ts";
import { extensionBehaviour } from "../../src/extensions/extension-behaviour.ts";
import { IDENTITY_TABLES } from "../../src/identity/seen.ts";
import { INPUT_TABLES } from "../../src/inputs/room-tables.ts";
import { createBulkUploads } from "../../src/loaders/bulk-uploads.ts";
import { createLoaders, type Schedule } from "../../src/loaders/load-definitions.ts";
import { LOAD_TABLES } from "../../src/loaders/load-steps.ts";
import { createTurns } from "../../src/loaders/turns.ts";
import { createCertificateDesk } from "../../src/operations/certificate-desk.ts";
import { createLicence } from "../../src/operations/licence.ts";
import { OPERATION_MARKS } from "../../src/operations/marks.ts";
import { reportSettings } from "../../src/operations/settings-report.ts";
import { HUB_COLLECTIONS, SITE_COLLECTIONS } from "../../src/replication/collections.ts";
import { createSqliteWork, tablesOf } from "../../src/replication/sqlite-work.ts";
import { createLinkDesk } from "../../src/replication/view/link-desk.ts";
import endpoints from "../../src/resources/devices/endpoints.ts";
import domains from "../../src/resources/domains/domains.ts";
import users from "../../src/resources/people/users.ts";
import securityGroupMembers from "../../src/resources/security/security-group-members.ts";
import securityGroups from "../../src/resources/security/security-groups.ts";
import userPermissions from "../../src/resources/security/user-permissions.ts";
import { type ApiNeeds, createApi } from "../../src/rest/api.ts";
import { createScenarios } from "../../src/scenarios/scenarios.ts";
import { SCENARIO_TABLES } from "../../src/scenarios/unknown-devices.ts";
import { createCatalogue } from "../../src/schema/catalogue.ts";
import type { AnyResource } from "../../src/schema/resource.ts";
import { defaultSettings } from "../../src/settings/schema.ts";
import { openStore } from "../../src/store/open-store.ts";
import type { Behaviour, By, Store } from "../../src/store/store.ts";
import { type Received, type Sending, send } from "./sending.ts";

/** The API over real HTTP on a store of its own, with an administrator. */
export interface ApiFixture {
  store: Store;
  base: string;
  system: By;
  token: string;
  adminId: string;
  rootId: string;
  /** Everything logged so far. */
  logged(): string;
  declarations: readonly AnyResource[];
  /** Event streams, and webhooks, which begin with `webhooks.start()`. */
  telling: Telling;
  call(method: string, path: string, sending?: Sending): Promise<Received>;
  /** Makes a user with permissions given as `verb spec`, and a token of its own. */
  user(name: string, ...grants: string[]): Promise<{ id: string; token: string }>;
  close(): Promise<void>;
}

/**
 * The clock of the machine by which no time passes between two requests: whoever has to wait for a second still has to,
 * however slow the machine is, and what was used up does not come back. For tests of such limits.
 */
export const STANDING_CLOCK: Clock = { ...systemClock, monotonicMs: () => 0 };

/** Opens the API on the data in `dataDir`, which may be there already. */
export async function openApi(
  dataDir: string,
  options: {
    /** Declarations beside those of Carillon. */
    declarations?: Modules;
    behaviours?: Readonly<Record<string, Behaviour>>;
    /** Replaces the decision of who may do and see what. */
    compile?: CompileScope;
    needs?: Partial<ApiNeeds>;
    /** Calls loads at their times; nobody does unless given. */
    schedule?: Schedule;
    /** Where webhooks may lead that is refused otherwise. */
    allowedTargets?: readonly string[];
    /** That of the machine unless given. */
    clock?: Clock;
  } = {},
): Promise<ApiFixture> {
  const lines: string[] = [];
  const log: Log = createLog({ level: "debug", stream: { write: (line: string) => void lines.push(line) } });
  const fail = (error: unknown): never => {
    throw error;
  };
  const clock = options.clock ?? systemClock;
  const events = createEvents(fail);
  const declarations = await loadDeclarations([
    OWN_DECLARATIONS,
    ...(options.declarations ? [options.declarations] : []),
  ]);
  const catalogue = createCatalogue(declarations);
  const policy = createAddressPolicy({ allowedTargets: options.allowedTargets ?? [] });
  const bells = createBellTimes({ ownZone: () => "Europe/Berlin" });
  const behaviours = {
    ...bindBehaviours({
      clock,
      catalogue,
      policy,
      get files() {
        return store.files;
      },
      endpoint: {
        ownId: () => "",
        health: { report: () => ({ status: "GREEN", redReasons: [], yellowReasons: [], since: 0 }) } as never,
        buildInfo: () => ({}) as never,
        failover,
        clock: () => ({ timeZone: "Europe/Berlin", synchronised: null }),
      },
      registry: {
        groupCounts: { of: () => new Map(), idle: async () => undefined },
        activationCounts: { of: () => new Map(), idle: async () => undefined },
      },
      isReachable: () => false,
      bells,
      plugins: {
        ...{ manifests: [], findProvider: () => "ip-phones", profileSchema: () => null },
        extensionBehaviour: extensionBehaviour({
          config: () => null,
          status: () => ({}),
          watches: () => [],
          touched: () => undefined,
        }),
      },
      baseUrl: () => "http://localhost",
      // Nothing rings here.
      planner: { replan: () => undefined, markStale: () => undefined, review: () => undefined } as never,
      reportsSite: (options.needs?.settings ?? defaultSettings()).scenarios.syntheticSiteQuestion,
      systemBy: () => system,
    }),
    ...options.behaviours,
  };
  const store: Store = openStore({
    tables: [
      ...BROADCAST_TABLES,
      ...LOAD_TABLES,
      ...SCENARIO_TABLES,
      ...AREA_TABLES,
      ...BELL_TABLES,
      ...ALARM_TABLES,
      ...INPUT_TABLES,
      OPERATION_MARKS,
      ...CALL_MANAGER_TABLES,
      ...IDENTITY_TABLES,
      ...tablesOf([...SITE_COLLECTIONS, ...HUB_COLLECTIONS]),
    ],
    dataDir,
    catalogue,
    behaviours,
    clock,
    events,
    log,
    onFatal: fail,
  });
  const access = createAccess({
    store,
    catalogue,
    clock,
    events,
    ...(options.compile ? { compile: options.compile } : {}),
  });
  const system = access.systemBy("test");
  const { rootId, adminId } = await firstData(store, system);
  await store.write((tx) => {
    writeAlarms(tx, system);
    writeBuiltInProvider(tx, rootId, system);
  });
  const data = { catalogue, store, access, clock, recording: { recorder: null }, close: async () => undefined };
  const telling = createTelling({ data, clock, events, log, policy, endpointId: () => "" });
  const oauth = createOAuth({ store, access, clock, onError: fail });
  const broadcaster = options.needs?.broadcaster ?? ({} as Broadcaster);
  const campaigns = createCampaigns({ store, clock, log, broadcaster, by: system, baseUrl: () => "http://localhost" });
  const areas = createAreas({ store, clock, events, log, broadcaster, by: system });
  areas.start();
  const endpointId = (): string => "";
  const nothingWrong = { report: () => ({ reasons: [] }) } as never;
  const detectors = createDetectors({ reader: store, health: nothingWrong, endpointId });
  const alarms = createAlarms({ store, clock, events, log, broadcaster, by: system, detectors, endpointId });
  const turns = createTurns();
  const loaders = createLoaders({
    ...{ store, clock, events, log, turns, system, loadsDir: join(dataDir, "loads") },
    schedule: options.schedule ?? (() => () => undefined),
  });
  await loaders.start();
  const bulkUploads = createBulkUploads({
    ...{ store, catalogue, clock, log, turns, system },
    endpointId: () => store.find(endpoints, {}, 1)[0]?.id ?? "",
  });
  const reader = createGathering({
    ...{ policy, clock, authorities: null, snmpPort: 161, allowDes: false, onProgress: () => undefined },
  });
  const phoneCache = createPhoneCache({
    ...{ store, clock, log, events, by: system, reader, endpointId, schedule: () => () => undefined },
    times: { full: null, delta: null, partial: null },
  });
  const scenarios = createScenarios({
    ...{ store, catalogue, clock, broadcaster },
    reportsSite: (options.needs?.settings ?? defaultSettings()).scenarios.syntheticSiteQuestion,
  });
  await bulkUploads.start();
  const isReachable = (): boolean => false;
  const { memberships, activations } = createRegistry({
    ...{ store, clock, events, log, isReachable, ownId: () => "", shareOut: () => ({ holder: "", like: "" }) },
  });
  let origin = "http://localhost";
  const identity = createIdentity({
    ...{ data: { store, access }, clock, events, log, policy, baseUrl: () => origin },
    schedule: options.schedule ?? (() => () => undefined),
  });
  identity.start();
  const api = createApi({
    ...{ memberships, activations },
    quietTests: { test: async () => ({ testedAt: 1, provenAt: 1, provenBy: "quiet-test", fault: null }) },
    scenarios,
    catalogue,
    store,
    access,
    clock,
    log,
    settings: defaultSettings(),
    broadcaster,
    plugins: {
      route: async () => null,
      configFields: () => ({}),
      profileSchema: () => null,
      restart: async () => {},
      log: () => null,
    },
    eventStream: telling.eventStream,
    campaigns,
    answerLinks: createAnswerLinks({ store, broadcaster }),
    declineLinks: createDeclineLinks({ store, clock, by: system }),
    bulkUploads,
    loaders,
    phoneCache,
    areas,
    bells,
    baseUrl: () => "http://localhost",
    alarms,
    licence: createLicence({ store, clock, events, log, keys: [] }),
    upkeep: {
      settings: () => reportSettings(defaultSettings(), null),
      backups: async () => ({ folder: "/nowhere", schedule: null, good: null, failed: null, files: [] }),
      certificate: createCertificateDesk({ dataDir, clock, log, reload: async () => undefined }),
    },
    watch: {
      version: "0",
      health: () => ({ status: "GREEN", since: 0 }),
      metrics: { text: async () => "", contentType: "text/plain" },
      series: { samples: () => [] },
      runs: { last: () => [{ began: 0, ended: null, ending: null, version: "0" }] },
    },
    speech: createSpeech({ store, engine: createSpeechEngine(clock), by: system }),
    signIn: identity.signIn,
    identity: identity.desk,
    oauth,
    scim: createScim({ store, access, clock, baseUrl: () => "http://localhost" }),
    failover,
    policy,
    handOn: async () => null,
    link: createLinkDesk({
      ...{
        store,
        catalogue,
        clock,
        endpointId: () => system.actor.name,
        site: null,
        hub: null,
        restart: () => undefined,
      },
      work: createSqliteWork(store, catalogue, system),
    }),
    firstRun: { needed: () => false, setUp: async () => "" },
    consoleFolder: pathToFileURL(join(dataDir, "console/")),
    ...options.needs,
  });
  const server = await startServer({ host: "127.0.0.1", port: 0 }, clock);
  server.open(api.callback());
  origin = server.url;
  const { token } = await createToken(store, adminId, { name: "test" }, system);

  return {
    store,
    system,
    token,
    adminId,
    rootId,
    declarations,
    base: `${origin}/api/v1`,
    logged: () => lines.join(""),
    call: (method, path, sending = {}) =>
      send(/^\/(?:api|x|scim)\//.test(path) ? origin + path : `${origin}/api/v1${path}`, method, {
        token,
        ...sending,
      }),
    async user(name, ...grants) {
      const { id } = await store.create(users, { name }, system);
      for (const grant of grants) {
        const [verb, spec] = grant.split(" ");
        await store.create(userPermissions, { userId: id, verb, spec }, system);
      }
      return { id, token: (await createToken(store, id, { name: "test" }, system)).token };
    },
    telling,
    async close() {
      telling.stop();
      await telling.webhooks.stop();
      await Promise.all([areas.stop(), alarms.stop(), identity.stop()]);
      await bulkUploads.stop();
      await loaders.stop();
      await phoneCache.stop();
      await server.stop();
      oauth.close();
      access.close();
      await store.close();
    },
  };
}

async function firstData(store: Store, system: By): Promise<{ rootId: string; adminId: string }> {
  const [root] = store.find(domains, { parentId: null }, 1);
  const [admin] = store.find(users, { email: "admin@example.org" }, 1);
  if (root && admin) return { rootId: root.id, adminId: admin.id };
  const domain = await store.create(domains, { name: "Root" }, system);
  const admins = await store.create(securityGroups, { name: "Administrators", superGroup: true }, system);
  const user = await store.create(users, { name: "Admin", email: "admin@example.org" }, system);
  await store.create(securityGroupMembers, { securityGroupId: admins.id, userId: user.id }, system);
  return { rootId: domain.id, adminId: user.id };
}

/** Nothing is known of any appliance. */
const failover: ApiNeeds["failover"] = (endpointId) => {
  const alone = { role: "standalone", state: "unreachable", mode: "solo", term: 0 } as const;
  return {
    endpointId,
    ...alone,
    partnerEndpointId: null,
    lastHeartbeatAt: null,
    activationGroupIds: [],
    since: null,
    peers: [],
  };
};
