import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { seedAlarms } from "../../src/alarms/alarm-hooks.ts";
import { createAlarms } from "../../src/alarms/alarms.ts";
import { createDetectors } from "../../src/alarms/detectors.ts";
import { ALARM_TABLES } from "../../src/alarms/schema.ts";
import { createAreas } from "../../src/areas/areas.ts";
import { AREA_TABLES } from "../../src/areas/schema.ts";
import type { AccountMessageSender } from "../../src/auth/account-mails.ts";
import { ensureBuiltInProvider } from "../../src/auth/identity-providers.ts";
import { createNewPasswords } from "../../src/auth/new-passwords.ts";
import { createOAuthService } from "../../src/auth/oauth.ts";
import { createToken } from "../../src/auth/tokens.ts";
import { createCalendarReader } from "../../src/bells/calendar-reader.ts";
import { createCalendarSubscriptions } from "../../src/bells/calendar-subscriptions.ts";
import { BELL_TABLES } from "../../src/bells/schema.ts";
import { createLocalTimeContext } from "../../src/bells/timetables.ts";
import { createClusterReader } from "../../src/call-manager/cluster-reader.ts";
import { createPhoneCache, type PhoneCacheDeps } from "../../src/call-manager/phone-cache.ts";
import { createPhoneConfigurations } from "../../src/call-manager/phone-configuration/phone-configurations.ts";
import { CALL_MANAGER_TABLES } from "../../src/call-manager/phone-plan-journal.ts";
import { createLinkAdminService } from "../../src/cloud-link/link-admin-service.ts";
import { type ApiDeps, createApi } from "../../src/http/api.ts";
import { startHttpServer } from "../../src/http/http-server.ts";
import { createBulkUploadService } from "../../src/importers/bulk-upload-service.ts";
import { createImportQueue } from "../../src/importers/import-queue.ts";
import { createLoadService } from "../../src/importers/load-service.ts";
import { LOAD_TABLES } from "../../src/importers/load-steps.ts";
import { INPUT_TABLES } from "../../src/inputs/schema.ts";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { createEvents } from "../../src/lib/events.ts";
import { createLog, type Log } from "../../src/lib/log.ts";
import { createSentenceRegistry } from "../../src/lib/sentences/registry.ts";
import { createSsrfGuard } from "../../src/lib/ssrf-guard.ts";
import { createTextToSpeechEngine } from "../../src/media/text-to-speech.ts";
import { createSpeechSynthesizer } from "../../src/notifications/compose/speech-synthesis.ts";
import type { NotificationService } from "../../src/notifications/notification-service.ts";
import { createAnswerLinks } from "../../src/notifications/responses/answer-links.ts";
import { createHistoryRetention } from "../../src/notifications/retention/history-retention.ts";
import { NOTIFICATION_TABLES } from "../../src/notifications/schema.ts";
import { createLicence } from "../../src/ops/licence.ts";
import { OPERATION_STATE } from "../../src/ops/operation-state.ts";
import { reportSettings } from "../../src/ops/settings-report.ts";
import { createCertificateService } from "../../src/ops/tls/certificate-service.ts";
import { createAddressProofs } from "../../src/people/address-proofs.ts";
import { createCampaigns } from "../../src/people/campaigns.ts";
import { createContactProofs } from "../../src/people/contact-proofs.ts";
import { createDeclineLinks } from "../../src/people/opt-outs.ts";
import { createAccessControl } from "../../src/permissions/access-control.ts";
import type { CompileScope } from "../../src/permissions/user-scope.ts";
import { extensionHooks } from "../../src/plugin-host/extension-hooks.ts";
import endpoints from "../../src/resources/devices/endpoints.ts";
import domains from "../../src/resources/domains/domains.ts";
import users from "../../src/resources/people/users.ts";
import securityGroupMembers from "../../src/resources/security/security-group-members.ts";
import securityGroups from "../../src/resources/security/security-groups.ts";
import userPermissions from "../../src/resources/security/user-permissions.ts";
import { createScenarios } from "../../src/scenarios/scenarios.ts";
import { SCENARIO_TABLES } from "../../src/scenarios/unknown-devices.ts";
import { createCatalogue } from "../../src/schema/catalogue.ts";
import type { AnyResource } from "../../src/schema/resource.ts";
import { createScimServer } from "../../src/scim/server.ts";
import { defaultSettings } from "../../src/settings/schema.ts";
import { SSO_TABLES } from "../../src/sso/login-state-store.ts";
import { createMissingGroups } from "../../src/sso/missing-groups.ts";
import { openStore } from "../../src/store/open-store.ts";
import type { ActorContext, ResourceHooks, Store } from "../../src/store/store.ts";
import { HUB_COLLECTIONS, SITE_COLLECTIONS } from "../../src/sync/storage/collections.ts";
import { collectionTables, createSqliteProgramRunner } from "../../src/sync/storage/sqlite-program-runner.ts";
import type { CronScheduler } from "../../src/time-zones/cron-schedule.ts";
import { MACHINE_FOLDER, machineZoneData } from "../../src/time-zones/zone-data.ts";
import { type ChangePublishers, createChangePublishers } from "../../src/wiring/change-publishers.ts";
import { createDeviceGroupRegistry } from "../../src/wiring/device-group-registry.ts";
import { bindHooks } from "../../src/wiring/hooks.ts";
import { createIdentityServices } from "../../src/wiring/identity-services.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations, type ModuleLoader } from "../../src/wiring/load-declarations.ts";
import { type ReceivedResponse, type RequestOptions, sendRequest } from "./http-client.ts";

/** The API over real HTTP on a store of its own, with an administrator. */
export interface ApiFixture {
  store: Store;
  base: string;
  system: ActorContext;
  token: string;
  adminId: string;
  rootId: string;
  /** Everything logged so far. */
  logText(): string;
  declarations: readonly AnyResource[];
  /** Event streams, and webhooks, which begin with `webhooks.start()`. */
  outbound: ChangePublishers;
  call(method: string, path: string, sending?: RequestOptions): Promise<ReceivedResponse>;
  /** Makes a user with permissions given as `verb spec`, and a token of its own. */
  user(name: string, ...grants: string[]): Promise<{ id: string; token: string }>;
  close(): Promise<void>;
}

/**
 * The clock of the machine by which no time passes between two requests: whoever has to wait for a second still has to,
 * however slow the machine is, and what was used up does not come back. For tests of such limits.
 */
export const FROZEN_CLOCK: Clock = { ...systemClock, monotonicMs: () => 0 };

const NO_CHANNEL: AccountMessageSender = { isAvailable: () => false, send: async () => "It is not set up." };

/** Opens the API on the data in `dataDir`, which may be there already. */
export async function openApi(
  dataDir: string,
  options: {
    /** Declarations beside those of Carillon. */
    declarations?: ModuleLoader;
    behaviours?: Readonly<Record<string, ResourceHooks>>;
    /** Replaces the decision of who may do and see what. */
    compile?: CompileScope;
    needs?: Partial<ApiDeps>;
    /** Calls loads at their times; nobody does unless given. */
    schedule?: CronScheduler;
    /** Where webhooks may lead that is refused otherwise. */
    allowedTargets?: readonly string[];
    /** That of the machine unless given. */
    clock?: Clock;
    /** Takes mails about accounts; there is no mail server unless given. */
    mailSender?: AccountMessageSender;
    /** Takes text messages with codes; there is no channel for them unless given. */
    textSender?: AccountMessageSender;
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
    BUILT_IN_DECLARATIONS,
    ...(options.declarations ? [options.declarations] : []),
  ]);
  const catalogue = createCatalogue(declarations);
  const ssrfGuard = createSsrfGuard({ allowedTargets: options.allowedTargets ?? [] });
  const zoneData = machineZoneData();
  const bells = createLocalTimeContext({ ownZone: () => "Europe/Berlin", data: zoneData });
  const settings = options.needs?.settings ?? defaultSettings();
  const phoneNumberPolicy = { ...settings.phoneNumbers, country: settings.site.country };
  const behaviours = {
    ...bindHooks({
      clock,
      catalogue,
      policy: ssrfGuard,
      get files() {
        return store.files;
      },
      endpoint: {
        ownId: () => "",
        health: { report: () => ({ status: "GREEN", redReasons: [], yellowReasons: [], since: 0 }) } as never,
        buildInfo: () => ({}) as never,
        failover,
        clock: () => ({
          ...{ timeZone: "Europe/Berlin", synchronised: null, timeZoneVersion: "2026a", timeZoneSource: "machine" },
          offsets: [],
        }),
      },
      registry: {
        groupCounts: { of: () => new Map(), idle: async () => undefined },
        activationCounts: { of: () => new Map(), idle: async () => undefined },
      },
      isReachable: () => false,
      bells,
      plugins: {
        ...{ manifests: [], findProvider: () => "ip-phones", profileSchema: () => null },
        extensionHooks: extensionHooks({
          config: () => null,
          status: () => ({}),
          watches: () => [],
          installation: () => null,
          onSettingsWritten: () => undefined,
        }),
      },
      baseUrl: () => "http://localhost",
      // Nothing rings here.
      planner: { replan: () => undefined, markDirty: () => undefined, revalidate: () => undefined } as never,
      reportsSite: (options.needs?.settings ?? defaultSettings()).scenarios.syntheticSiteQuestion,
      systemBy: () => system,
      phoneNumberPolicy,
    }),
    ...options.behaviours,
  };
  const store: Store = openStore({
    tables: [
      ...NOTIFICATION_TABLES,
      ...LOAD_TABLES,
      ...SCENARIO_TABLES,
      ...AREA_TABLES,
      ...BELL_TABLES,
      ...ALARM_TABLES,
      ...INPUT_TABLES,
      OPERATION_STATE,
      ...CALL_MANAGER_TABLES,
      ...SSO_TABLES,
      ...collectionTables([...SITE_COLLECTIONS, ...HUB_COLLECTIONS]),
    ],
    dataDir,
    catalogue,
    hooks: behaviours,
    clock,
    events,
    log,
    onFatal: fail,
  });
  const access = createAccessControl({
    store,
    catalogue,
    clock,
    events,
    ...(options.compile ? { compile: options.compile } : {}),
  });
  const system = access.systemContext("test");
  const { rootId, adminId } = await firstData(store, system);
  await store.write((tx) => {
    seedAlarms(tx, system);
    ensureBuiltInProvider(tx, rootId, system);
  });
  const data = { catalogue, store, access };
  const telling = createChangePublishers({ data, clock, events, log, ssrfGuard, endpointId: () => "" });
  const oauth = createOAuthService({ store, access, clock, onError: fail });
  const notificationService = options.needs?.notificationService ?? ({} as NotificationService);
  const channels = { mail: options.mailSender ?? NO_CHANNEL, text: options.textSender ?? NO_CHANNEL };
  const campaigns = createCampaigns({
    store,
    clock,
    log,
    notificationService,
    by: system,
    policy: phoneNumberPolicy,
    baseUrl: () => "http://localhost",
    contactProofs: createContactProofs({ ...{ store, clock, baseUrl: () => "http://localhost" }, channels }),
  });
  const areas = createAreas({ store, clock, events, log, notificationService, by: system });
  areas.start();
  const endpointId = (): string => "";
  const nothingWrong = { report: () => ({ reasons: [] }) } as never;
  const detectors = createDetectors({ reader: store, health: nothingWrong, endpointId });
  const alarms = createAlarms({ store, clock, events, log, notificationService, by: system, detectors, endpointId });
  const queue = createImportQueue();
  const zoneFolders = { folder: MACHINE_FOLDER, installedFolder: null };
  const loaders = createLoadService({
    ...{ store, clock, events, log, queue, system, loadsDir: join(dataDir, "loads") },
    ...{ zoneFolders, ownZone: bells.ownZone, ssrfGuard },
    schedule: options.schedule ?? (() => () => undefined),
  });
  await loaders.start();
  const bulkUploads = createBulkUploadService({
    ...{ store, catalogue, clock, log, queue, system },
    endpointId: () => store.find(endpoints, {}, 1)[0]?.id ?? "",
  });
  const createReader: PhoneCacheDeps["createReader"] = (onProgress) =>
    createClusterReader({ policy: ssrfGuard, clock, authorities: null, snmpPort: 161, allowDes: false, onProgress });
  const phoneCache = createPhoneCache({
    ...{ store, clock, log, events, by: system, createReader, endpointId, schedule: () => () => undefined },
    times: { full: null, delta: null, partial: null },
  });
  const calendarReader = createCalendarReader({ clock, zoneFolders, zoneData: { revision: 0 } });
  const calendars = createCalendarSubscriptions({
    ...{ store, clock, events, log, by: system, times: bells, reader: calendarReader, ssrfGuard },
  });
  const scenarios = createScenarios({
    ...{ store, catalogue, clock, notificationService },
    reportsSite: (options.needs?.settings ?? defaultSettings()).scenarios.syntheticSiteQuestion,
  });
  await bulkUploads.start();
  const isReachable = (): boolean => false;
  const { memberships, activations } = createDeviceGroupRegistry({
    ...{
      store,
      clock,
      events,
      log,
      isReachable,
      ownId: () => "",
      shareOut: () => ({ holder: "", equivalenceKey: "" }),
    },
  });
  let origin = "http://localhost";
  const identity = createIdentityServices({
    ...{
      data: { store, access },
      clock,
      events,
      log,
      policy: ssrfGuard,
      passwords: createNewPasswords(clock, 12),
      onPasswordLogin: () => undefined,
      missingGroups: createMissingGroups(clock),
      baseUrl: () => origin,
      mailSender: options.mailSender ?? NO_CHANNEL,
    },
    schedule: options.schedule ?? (() => () => undefined),
  });
  identity.start();
  const api = createApi({
    ...{ memberships, activations },
    silentTests: { testDevice: async () => ({ testedAt: 1, provenAt: 1, provenBy: "quiet-test", fault: null }) },
    scenarios,
    catalogue,
    store,
    access,
    clock,
    log,
    settings: defaultSettings(),
    onKnownClient: () => undefined,
    notificationService,
    plugins: {
      handleRequest: async () => null,
      configFields: () => ({}),
      profileSchema: () => null,
      restart: async () => {},
      sentences: createSentenceRegistry(),
      readLog: () => null,
      reports: () => [],
      readReport: async () => null,
    },
    eventStream: telling.eventStream,
    campaigns,
    addressProofs: createAddressProofs({ store, clock, log, channels, policy: phoneNumberPolicy, by: system }),
    answerLinks: createAnswerLinks({ store, notificationService }),
    declineLinks: createDeclineLinks({ store, clock, by: system }),
    bulkUploads,
    loaders,
    phoneCache,
    phoneConfigurations: createPhoneConfigurations({
      ...{ reader: store, clock, policy: createSsrfGuard({ allowedTargets: [] }) },
      ...{ authenticationUrl: () => undefined, ownAddresses: () => [] },
    }),
    areas,
    bells,
    zoneData: { problems: zoneData.problems, compareSources: async () => [] },
    calendars,
    calendarReader,
    baseUrl: () => "http://localhost",
    readiness: { list: () => [] },
    alarms,
    licence: createLicence({ store, clock, events, log, keys: [] }),
    maintenance: {
      settings: () => reportSettings(defaultSettings(), null),
      backups: async () => ({
        folder: "/nowhere",
        schedule: null,
        recipients: [],
        good: null,
        failed: null,
        files: [],
      }),
      retention: createHistoryRetention({
        ...{ store, clock, log, by: system, settings: defaultSettings().retention },
        ...{ schedule: () => () => undefined, isUnsent: () => false },
      }),
      certificate: createCertificateService({ dataDir, clock, log, reload: async () => undefined }),
    },
    monitoring: {
      version: "0",
      health: () => ({ status: "GREEN", since: 0 }),
      metrics: { render: async () => "", contentType: "text/plain", addGauge: () => undefined },
      series: { samples: () => [] },
      runs: { newest: () => [{ began: 0, ended: null, ending: null, version: "0" }] },
    },
    speech: createSpeechSynthesizer({ store, engine: createTextToSpeechEngine(clock), by: system }),
    signIn: identity.signIn,
    identity: identity.desk,
    oauth,
    scim: createScimServer({ store, access, clock, baseUrl: () => "http://localhost" }),
    failover,
    ssrfGuard,
    proxyToCloud: async () => null,
    link: createLinkAdminService({
      ...{
        store,
        catalogue,
        clock,
        endpointId: () => rootId,
        site: null,
        hub: null,
        restart: () => undefined,
      },
      runner: createSqliteProgramRunner(store, catalogue, system),
    }),
    passwordReset: identity.passwordReset,
    firstRun: { needed: () => false, setUp: async () => "" },
    consoleFolder: pathToFileURL(join(dataDir, "console/")),
    ...options.needs,
  });
  const server = await startHttpServer({ host: "127.0.0.1", port: 0 }, clock);
  server.setRequestListener(api.callback());
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
    logText: () => lines.join(""),
    call: (method, path, sending = {}) =>
      sendRequest(/^\/(?:api|x|scim)\//.test(path) ? origin + path : `${origin}/api/v1${path}`, method, {
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
    outbound: telling,
    async close() {
      telling.stop();
      await telling.webhooks.stop();
      await Promise.all([areas.stop(), alarms.stop(), identity.stop()]);
      await calendars.stop();
      await calendarReader.close();
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

async function firstData(store: Store, system: ActorContext): Promise<{ rootId: string; adminId: string }> {
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
const failover: ApiDeps["failover"] = (endpointId) => {
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
