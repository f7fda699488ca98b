import type { RequestListener } from "node:http";
import { hostname } from "node:os";
import { join } from "node:path";
import { seedAlarms } from "../alarms/alarm-hooks.ts";
import { createAreas } from "../areas/areas.ts";
import { createNewPasswords } from "../auth/new-passwords.ts";
import { createOAuthService } from "../auth/oauth.ts";
import { createBellPlanner, createBells } from "../bells/bells.ts";
import { createCalendarReader } from "../bells/calendar-reader.ts";
import { createCalendarSubscriptions } from "../bells/calendar-subscriptions.ts";
import { createRingPlans, type RingPlans } from "../bells/offline-ring-plans.ts";
import { canRingOffline } from "../bells/offline-rings.ts";
import { areMissedRingsResolved } from "../bells/ring-repository.ts";
import { createScheduleLint } from "../bells/schedule-lint.ts";
import { createLocalTimeContext } from "../bells/timetables.ts";
import { createZoneChanges, type ZoneChanges, zoneChangeReports } from "../bells/zone-changes.ts";
import { createMissingPasswordCheck } from "../call-manager/missing-passwords.ts";
import { createLogInProofs } from "../cloud-link/log-in-proofs.ts";
import { createLivePageDoor } from "../console/live-page-door.ts";
import { createLicensing } from "../devices/licence-update.ts";
import { createApi } from "../http/api.ts";
import { consoleBuildFolder } from "../http/console-assets.ts";
import { errorResponseOf } from "../http/error-response.ts";
import type { ClientAddressOf } from "../http/http-server.ts";
import { createWebSocketUpgrade } from "../http/websocket-upgrade.ts";
import { createInputs, type Inputs } from "../inputs/inputs.ts";
import { createPhoneCalls, type PhoneCalls } from "../inputs/phone/phone-calls.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { runAs } from "../lib/current-work.ts";
import { invalidValue } from "../lib/errors.ts";
import { createEvents } from "../lib/events.ts";
import { newId } from "../lib/ids.ts";
import type { Log } from "../lib/log.ts";
import { externalAddresses } from "../lib/network-route.ts";
import { productVersion } from "../lib/product-version.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { createSsrfGuard } from "../lib/ssrf-guard.ts";
import { createTextToSpeechEngine } from "../media/text-to-speech.ts";
import { createSpeechSynthesizer } from "../notifications/compose/speech-synthesis.ts";
import { createLoopbackProbe } from "../notifications/engine/loopback-probe.ts";
import type { TextMessageHandler } from "../notifications/responses/text-replies.ts";
import { createAuditNotes, createHeldAuditNotes } from "../ops/audit-notes.ts";
import { createAuditStream } from "../ops/audit-stream.ts";
import { dedicatedAlarmReasons } from "../ops/health/dedicated-alarms.ts";
import type { BuildInfo } from "../ops/health/endpoint-hooks.ts";
import { createHealthMonitor, type HealthSource } from "../ops/health/health.ts";
import { createHostMetrics } from "../ops/health/host-metrics.ts";
import { createMeasurements } from "../ops/health/measurements.ts";
import { missedBellReasons } from "../ops/health/missed-bells.ts";
import { queueHealthReasons } from "../ops/health/queue-lengths.ts";
import { createQuietTests } from "../ops/health/quiet-tests.ts";
import { createLoopGuard } from "../ops/loop-guard.ts";
import { nodeSupportReasons } from "../ops/node-support.ts";
import type { SettingsFile } from "../ops/settings-report.ts";
import { createEmergencyReadiness, type EmergencyReadinessMonitor } from "../readiness/readiness.ts";
import { createScenarios } from "../scenarios/scenarios.ts";
import type { AnyResource } from "../schema/resource.ts";
import { createScimServer } from "../scim/server.ts";
import { type ListenAddress, parseListenAddress } from "../settings/network-addresses.ts";
import type { Settings } from "../settings/schema.ts";
import { createDirectoryHealthCheck } from "../sso/directory-health.ts";
import { createMissingGroups } from "../sso/missing-groups.ts";
import type { SharedLog } from "../store/shared-log.ts";
import type { ResourceHooks } from "../store/store.ts";
import { createCronScheduler } from "../time-zones/cron-schedule.ts";
import { createSourceComparison } from "../time-zones/disagreements.ts";
import { describeSiteZone } from "../time-zones/site-zone.ts";
import { installedZonesFolder, watchZoneData, zoneDataReasons } from "../time-zones/zone-data.ts";
import { applianceTimeZone } from "../web-pages/local-time.ts";
import { startApiServer } from "./api-server.ts";
import { isInitialized, openApplianceData } from "./appliance-data.ts";
import { startAudioServices } from "./audio-services.ts";
import { createPhoneChecks } from "./call-managers.ts";
import { createChangePublishers } from "./change-publishers.ts";
import { type CloudLink, createCloudLink } from "./cloud-link.ts";
import { createDaemonControlCommands } from "./control-commands.ts";
import { startControlSocket } from "./control-socket.ts";
import { createDeliveryChannels } from "./delivery-channels.ts";
import { createDeviceGroupRegistry } from "./device-group-registry.ts";
import { createFailoverCoordinator } from "./failover-coordinator.ts";
import { createFirstRunSetup } from "./first-run.ts";
import { hashStoredSecrets } from "./hash-stored-secrets.ts";
import { bindHooks } from "./hooks.ts";
import { createIdentityServices } from "./identity-services.ts";
import { type Importers, startImporters } from "./importers.ts";
import { seedMissingDefaults } from "./init.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "./load-declarations.ts";
import { storeLocalEndpoint, trackLocalEndpoint } from "./local-endpoint.ts";
import { startMonitoring } from "./monitoring.ts";
import { type CreateWatch, createNetworkMonitor } from "./network-monitor.ts";
import { createOperations } from "./operations.ts";
import { createProxiedRequestHandler } from "./proxied-requests.ts";
import { createPublicResponses, type PublicResponses } from "./public-responses.ts";
import { readAuthorities } from "./read-authorities.ts";
import { notInitializedError, requireDatabase } from "./require-database.ts";
import { INTERNAL_TABLES } from "./schema.ts";
import { type ShutdownStep, stopInReverse } from "./shutdown.ts";

export interface DaemonOptions {
  dataDir: string;
  /** `HOST:PORT`; port 0 takes a free port. */
  listen: string;
  settings: Settings;
  /** The settings file, if there is one. */
  settingsFile?: SettingsFile;
  log: Log;
  clock?: Clock;
  /** Default: the built-in declarations. */
  declarations?: readonly AnyResource[];
  /** A disk write failed: the process must exit with code 74. Called once. */
  onFatal: (error: unknown) => void;
  /** Runs as the cloud of an organisation, to which appliances link. */
  isHub?: boolean;
  /** Behind a gateway: real client address of a connection by its local port. */
  callerAt?: ClientAddressOf;
  /** Shared log of a cloud with several nodes. */
  shared?: SharedLog;
  /** Health reasons from before the daemon started, such as those of the replica. */
  source?: HealthSource;
  /** Reports turns of the event loop that are too long; the loop must be the daemon's alone. */
  guardsLoop?: boolean;
  /** Watches the machine's network; replaced where it must not change. */
  createNetworkWatch?: CreateWatch;
  /** A restart was requested: stop the daemon and start it again. */
  onRestart?: () => void;
}

/** A running appliance. */
export interface Daemon {
  /** Base URL of the main server; the API is at `<url>/api/v1`. */
  readonly url: string;
  /** Public URLs of the plugins' own ports: `{"ip-phones/auth": "http://…"}`. */
  readonly urls: Readonly<Record<string, string>>;
  /** The daemon's side of cloud links. */
  readonly cloudLink: CloudLink;
  /** Stops all modules in reverse order, within 5 s; may be called more than once. */
  stop(): Promise<void>;
}

/**
 * Starts the appliance in `dataDir`; resolves once messages can be sent. Throws UpstreamError (about the data directory) if
 * there is no appliance or another daemon uses it, CallerError for `listen`, Node's error for an address in use.
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { clock = systemClock, log } = options;
  const shutdownSteps: ShutdownStep[] = [];
  let stopping: Promise<void> | null = null;
  const stop = (): Promise<void> => {
    stopping ??= stopInReverse(shutdownSteps, clock, log);
    return stopping;
  };
  try {
    return { ...(await startModules(options, clock, shutdownSteps)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** As many as are kept. */
const MAX_ZONE_CHANGES = 20;

/** Starts the modules in dependency order; each adds its shutdown step before it starts. */
async function startModules(
  options: DaemonOptions,
  clock: Clock,
  shutdownSteps: ShutdownStep[],
): Promise<Omit<Daemon, "stop">> {
  const { dataDir, settings, log } = options;
  const address = requireListenAddress(options.listen);
  const events = createEvents((error, name) =>
    log.error({ event: "events.listener_failed", err: error, name }, "event listener failed"),
  );
  const onStop = (name: string, stop: () => unknown): void => void shutdownSteps.push({ name, stop });

  requireDatabase(dataDir);
  const audio = startAudioServices(settings, clock, log);
  onStop("audio", audio.stop);
  const declarations = options.declarations ?? (await loadDeclarations([BUILT_IN_DECLARATIONS]));
  const hooks: Record<string, ResourceHooks> = {};
  const data = openApplianceData({
    dataDir,
    declarations,
    hooks,
    tables: INTERNAL_TABLES,
    clock,
    events,
    log,
    onFatal: options.onFatal,
    keepsDiskReserve: true,
    ...(options.shared && { shared: options.shared }),
  });
  onStop("data", data.close);
  const { store, access, catalogue } = data;
  if (!isInitialized(store)) throw notInitializedError(dataDir);

  const { isHub = false, callerAt } = options;
  const server = await startApiServer({ dataDir, address, settings, clock, log, isHub, ...(callerAt && { callerAt }) });
  onStop("API server", server.stop);
  const measurements = createMeasurements({ store, clock, log, host: createHostMetrics(), dataDir });
  const loopGuard = createLoopGuard({ clock, log });
  onStop("loop guard", loopGuard.stop);
  const localEndpoint = trackLocalEndpoint(store, events);
  const endpointId = localEndpoint.id;
  const zoneFolders = { folder: settings.timeZones.folder, installedFolder: installedZonesFolder(dataDir) };
  const zoneData = watchZoneData(zoneFolders, { clock, log });
  onStop("time zone data", zoneData.stop);
  const siteZone = (): string => applianceTimeZone(store, endpointId());
  const bellTimes = createLocalTimeContext({ ownZone: siteZone, rules: settings.bells, data: zoneData });
  const schedule = createCronScheduler({ clock, ...bellTimes });
  onStop("local endpoint", localEndpoint.stop);
  // Set below; commands and requests arrive only once all modules run.
  let requestListener: RequestListener;
  let importers: Importers;
  const rebuildPhoneCache = () => importers.phoneCache.rebuild();
  const canary = createLoopbackProbe({ store, clock, log, ...audio });
  const isSelfTestSilent = (): boolean => canary.isSilent;
  const network = createNetworkMonitor({
    ...{ settings, clock, events, log, streamer: audio.streamer, sendsMulticast: !isHub },
    ...(options.createNetworkWatch && { createWatch: options.createNetworkWatch }),
  });
  onStop("network monitor", network.stop);
  events.on("network.changed", server.networkChanged);
  const operations = createOperations({
    ...options,
    network: network.state,
    clock,
    events,
    data,
    endpointId,
    rebuildPhoneCache,
    isSelfTestSilent,
    schedule,
    offsetAt: (at) => bellTimes.zones.of(bellTimes.ownZone()).offsetAt(at),
  });
  const proofs = createLogInProofs(store, clock);
  const auditNotes = createAuditNotes({
    ...{ store, clock, log, dataDir },
    backupFolder: settings.backups.folder ?? join(dataDir, "backups"),
  });
  const heldAuditNotes = createHeldAuditNotes(store, clock);
  const { audit: auditCopies } = settings;
  const auditStream = createAuditStream({
    ...{ store, clock, log, hostName: hostname(), settings: auditCopies },
    target: auditCopies.syslog === null ? null : parseListenAddress(auditCopies.syslog),
    authority: readAuthorities("audit.authority", auditCopies.authority),
  });
  const cloudLink = createCloudLink({
    ...{ ...options, data, clock, events, endpointId, auditNotes, heldAuditNotes },
    notificationService: () => notificationService,
    failover: () => failoverCoordinator.linkHandlers,
    health: () => health.report(),
    candidates: (devices) => deviceGroups.activations.candidateEndpoints(devices),
    request: createProxiedRequestHandler({
      ...{ access, proofs, catalogue },
      listener: () => requestListener,
      url: () => server.url,
    }),
    async logIn(endpoint, { email, password }) {
      const userId = await identity.signIn.verifyPassword({ email, password }, `endpoint:${endpoint}`);
      return { proof: proofs.issue(userId, endpoint) };
    },
  });
  const isCloudConnected = (): boolean => cloudLink.isConnected();
  const isCloudManaged = (): boolean => cloudLink.site !== null && data.recording.recorder !== null;
  const failoverCoordinator = createFailoverCoordinator({
    ...{
      store,
      settings,
      clock,
      events,
      log,
      endpointId,
      hasCloud: isCloudConnected,
      by: access.systemContext("failover"),
    },
    audits: { ...auditNotes, held: heldAuditNotes },
    link: cloudLink.site,
  });
  const missedBells = missedBellReasons(store, clock, endpointId, {
    exist: () => canRingOffline(store, clock.now()),
    compensated: (ranges) => areMissedRingsResolved(store, ranges),
  });
  const ssrfGuard = createSsrfGuard(settings.network);
  const phoneChecks = createPhoneChecks({ store, clock, log, policy: ssrfGuard, urls: () => plugins.urls() });
  onStop("phone configurations", phoneChecks.configurations.stop);
  const silentTests = createQuietTests({
    ...{ store, clock, log, provenWithinHours: settings.quietTests.provenWithinHours },
    probe: (provider, device) => plugins.probe(provider, device),
    diagnose: phoneChecks.diagnose,
  });
  // Set below: they need the notification service.
  let ringPlans: RingPlans | undefined;
  let readiness: EmergencyReadinessMonitor | undefined;
  let zoneChanges: ZoneChanges;
  const scheduleLint = createScheduleLint({ reader: store, clock, events, log, times: bellTimes });
  const missingGroups = createMissingGroups(clock);
  const calendarReader = createCalendarReader({ clock, zoneFolders, zoneData });
  onStop("calendar reader", calendarReader.close);
  const calendars = createCalendarSubscriptions({
    ...{ store, clock, events, log, ssrfGuard, times: bellTimes, by: access.systemContext("bells") },
    reader: calendarReader,
  });
  const healthSources = [
    ...[
      measurements.healthSource,
      scheduleLint.healthReasons,
      missedBells,
      queueHealthReasons(store, clock),
      operations.healthSource,
      auditNotes.healthReasons,
      auditStream.healthReasons,
      server.healthSource,
      network.healthSource,
    ],
    ...[
      silentTests.healthSource,
      dedicatedAlarmReasons(store, endpointId),
      canary.healthReasons,
      cloudLink.healthSource,
      failoverCoordinator.healthSource,
    ],
    createMissingPasswordCheck(store, endpointId),
    createDirectoryHealthCheck(store),
    missingGroups.healthReasons,
    () => ringPlans?.healthSource() ?? [],
    () => readiness?.healthReasons() ?? [],
    () => zoneDataReasons(zoneData, clock.now()),
    () => nodeSupportReasons(process.versions.node, clock.now()),
    () => zoneChanges.healthReasons(),
    calendars.healthReasons,
    loopGuard.healthReasons,
    ...(options.source ? [options.source] : []),
  ];
  const health = createHealthMonitor({ clock, events, reader: store, sources: healthSources });
  onStop("health", health.stop);
  const siteClock = () => ({
    ...describeSiteZone(bellTimes, zoneData, clock.now()),
    timeZone: siteZone(),
    synchronised: measurements.latest.clockSynchronised,
  });
  const endpoint = { ownId: endpointId, health, failover: failoverCoordinator.status, buildInfo, clock: siteClock };
  const speech = createSpeechSynthesizer({
    store,
    engine: createTextToSpeechEngine(clock),
    by: access.systemContext("speech"),
  });
  const { assignDuty } = failoverCoordinator;
  const { hub } = cloudLink;
  // A cloud gets no heartbeats; an appliance is reachable while it is linked.
  const isReachable = hub
    ? (id: string): boolean => id === endpointId() || hub.connected().includes(id)
    : failoverCoordinator.isReachable;
  const deviceGroups = createDeviceGroupRegistry({
    store,
    clock,
    events,
    log,
    isReachable,
    ownId: endpointId,
    shareOut: assignDuty,
  });
  onStop("registry", deviceGroups.stop);
  // Set below; no plugin runs before.
  let inputs: Inputs;
  let phoneCalls: PhoneCalls;
  let publicResponses: PublicResponses;
  const takeText: TextMessageHandler = (message) => publicResponses.textReplies(message);
  const takeInput = (plugin: string, input: unknown): Promise<void> => inputs.enqueue(plugin, input);
  const baseUrl = (): string => settings.api.publicUrl?.replace(/\/+$/, "") ?? server.url;
  const channelDeps = {
    clock,
    events,
    data,
    sound: audio,
    speech,
    registry: deviceGroups,
    endpointId,
    takeInput,
    phone: () => phoneCalls,
    takeText,
    baseUrl,
    linking: cloudLink,
  };
  const channels = createDeliveryChannels({ ...options, ...channelDeps, ringPlans: () => ringPlans });
  const { plugins, notificationService } = channels;
  const reportsSite = settings.scenarios.syntheticSiteQuestion;
  const scenarios = createScenarios({ store, catalogue, clock, notificationService, reportsSite });
  const startScenario = scenarios.start;
  inputs = createInputs({
    store,
    clock,
    log,
    notificationService,
    startScenario,
    endpointId,
    by: access.systemContext("inputs"),
  });
  phoneCalls = createPhoneCalls({
    ...{ store, clock, events, log, endpointId, notificationService, inputs },
    voice: notificationService.voiceCalls,
    hangUp: plugins.hangUp,
    by: access.systemContext("inputs"),
  });
  onStop("phone calls", phoneCalls.stop);
  publicResponses = createPublicResponses({
    ...{ data, clock, log, notificationService, baseUrl, country: settings.site.country },
    channels: { mail: plugins.accountMessages("email"), text: plugins.accountMessages("SMS") },
  });
  ringPlans = createRingPlans({
    store,
    clock,
    log,
    times: bellTimes,
    notificationService,
    by: access.systemContext("bells"),
  });
  onStop("offline ring plans", ringPlans.stop);
  const { files } = store;
  const planner = createBellPlanner({ store, clock, times: bellTimes });
  zoneChanges = createZoneChanges({
    ...{ store, clock, log, endpointId, planner },
    ...{ by: access.systemContext("bells"), times: bellTimes, data: zoneData },
  });
  const hookDeps = {
    clock,
    catalogue,
    files,
    endpoint,
    bells: bellTimes,
    planner,
    registry: deviceGroups,
    isReachable,
    plugins,
    policy: ssrfGuard,
    baseUrl,
    systemBy: () => access.systemContext("areas"),
  };
  Object.assign(hooks, bindHooks({ ...hookDeps, reportsSite }));

  await store.write((tx) => {
    seedMissingDefaults(tx, access.systemContext("init"));
    seedAlarms(tx, access.systemContext("alarms"));
    // Data of earlier releases do not name it.
    storeLocalEndpoint(tx, endpointId());
  });
  onStop("plugins", () => plugins.stop());
  await Promise.all([network.start(), plugins.start(), audio.ready, speech.start()]);
  cloudLink.startRecording();
  onStop("notification service", () => notificationService.stop());
  await runAs("notifications", () => notificationService.start());
  readiness = createEmergencyReadiness({
    ...{ store, clock, events, log, notificationService, settings: settings.readiness },
    by: access.systemContext("readiness"),
  });
  onStop("readiness", readiness.stop);
  runAs("readiness", () => readiness.start());
  onStop("loopback probe", canary.stop);
  runAs("loopback probe", () => canary.start());
  const bellsActor = access.systemContext("bells");
  const bellRinger = createBells({
    store,
    clock,
    log,
    times: bellTimes,
    planner,
    notificationService,
    by: bellsActor,
    endpointId,
    ...{
      duty: failoverCoordinator.dutyOf,
      isAssignmentOutdated: failoverCoordinator.isAssignmentStale,
      failoverDuty: failoverCoordinator.backupDutyOf,
    },
  });
  onStop("failover", failoverCoordinator.stop);
  await failoverCoordinator.start();
  onStop("bells", bellRinger.stop);
  onStop("time zone changes", zoneChanges.stop);
  zoneData.onChange(() => ringPlans?.invalidate());
  zoneData.start();
  runAs("time zones", () => zoneChanges.start());
  // Each appliance rings the bells of the devices that it has. @source docs/decisions/0025-one-active-side.md
  if (!options.isHub) runAs("bells", () => bellRinger.start());
  onStop("subscribed calendars", calendars.stop);
  runAs("subscribed calendars", () => calendars.start());
  onStop("schedule lint", scheduleLint.stop);
  runAs("schedule check", () => scheduleLint.start());
  const onLicenceError = (error: unknown): void =>
    log.error({ event: "licence.apply_failed", err: error }, "failed to apply licence limits");
  const licensing = createLicensing({
    store,
    clock,
    events,
    by: access.systemContext("devices"),
    onError: onLicenceError,
  });
  onStop("licensing", licensing.stop);
  licensing.start();
  onStop("inputs", inputs.stop);
  runAs("inputs", () => inputs.start());
  const passwords = createNewPasswords(clock, settings.auth.passwordMinLength);
  const controlCommands = {
    ...createDaemonControlCommands({ ...data, passwords, settings: settings.auth, auditNotes }, plugins),
    ...operations.controlCommands,
    ...cloudLink.controlCommands,
    /** `{}` -> ZoneChangeReport[], newest first. */
    "time-zones.changes": async () => zoneChangeReports(store, MAX_ZONE_CHANGES),
  };
  const control = await startControlSocket(dataDir, controlCommands, log);
  onStop("control socket", control.stop);
  const effectiveSettings = { ...settings, listen: options.listen };
  const identity = createIdentityServices({
    onPasswordLogin: (tokenId, user, password) => cloudLink.site?.confirmLogIn(tokenId, user, password),
    ...{ data, clock, events, log, policy: ssrfGuard, baseUrl, schedule, missingGroups, passwords },
    mailSender: plugins.accountMessages("email"),
  });
  const { signIn } = identity;
  onStop("identity providers", identity.stop);
  runAs("identity", () => identity.start());
  const onTokenCleanupError = (error: unknown): void =>
    log.error({ event: "tokens.cleanup_failed", err: error }, "failed to delete expired tokens");
  const oauth = createOAuthService({ store, access, clock, onError: onTokenCleanupError });
  onStop("oauth", oauth.close);
  const firstRun = createFirstRunSetup({ dataDir, store, access, clock, signIn, passwords });
  const areas = createAreas({ store, clock, events, log, notificationService, by: access.systemContext("areas") });
  onStop("areas", areas.stop);
  runAs("areas", () => areas.start());
  const monitoring = startMonitoring({
    store,
    access,
    clock,
    events,
    log,
    notificationService,
    health,
    measurements,
    canary,
    loopGuard,
    endpointId,
  });
  onStop("alarms", monitoring.stop);
  const { schedule: testSchedule } = settings.quietTests;
  const stopTestSchedule =
    testSchedule === null ? () => undefined : schedule(testSchedule, () => void silentTests.testAll());
  onStop("silent tests", () => {
    stopTestSchedule();
    return silentTests.stop();
  });
  const importerTimes = { clock, schedule, zoneFolders, ownZone: bellTimes.ownZone };
  importers = await startImporters({
    ...{ dataDir, data, settings, events, log, endpointId, onStop, ssrfGuard, ...importerTimes },
  });
  const changePublishers = createChangePublishers({ data, clock, events, log, ssrfGuard, endpointId });
  const { eventStream, webhooks, liveFeed } = changePublishers;
  const api = createApi({
    ...{
      catalogue,
      store,
      access,
      clock,
      log,
      notificationService,
      plugins,
      memberships: deviceGroups.memberships,
      activations: deviceGroups.activations,
      silentTests,
      signIn,
      identity: identity.desk,
      oauth,
      scim: createScimServer({ store, access, clock, baseUrl, isManagedByCloud: isCloudManaged }),
      passwordReset: identity.passwordReset,
      firstRun,
      eventStream,
      ...publicResponses,
      areas,
      bells: bellTimes,
      zoneData: { problems: zoneData.problems, compareSources: createSourceComparison(zoneData, clock) },
      calendars,
      calendarReader,
      baseUrl,
      alarms: monitoring.alarms,
      licence: operations.licence,
      maintenance: operations.maintenance,
      monitoring: { ...monitoring, version: productVersion(), health: health.report, runs: operations.runs },
      speech,
    },
    ...importers,
    phoneConfigurations: phoneChecks.configurations,
    scenarios,
    settings: effectiveSettings,
    onKnownClient: server.markKnownClient,
    readiness,
    link: cloudLink.adminService,
    proxyToCloud: async (request) => (await cloudLink.site?.forwardRequest(request)) ?? null,
    ssrfGuard,
    failover: failoverCoordinator.status,
    consoleFolder: consoleBuildFolder(),
  });
  onStop("audit notes", auditNotes.stop);
  auditNotes.start();
  onStop("audit stream", auditStream.stop);
  await auditStream.start();
  onStop("operations", operations.stop);
  await operations.start({ report: health.report, listen: settings.tls.listen ?? options.listen, ...server });
  onStop("webhooks", webhooks.stop);
  runAs("webhooks", () => webhooks.start());
  const { acceptConnection: acceptLink } = cloudLink;
  const livePages = createLivePageDoor({
    notificationService,
    clock,
    explain: (error) => errorResponseOf(error, newId()).body,
  });
  requestListener = api.callback();
  server.setRequestListener(
    requestListener,
    createWebSocketUpgrade({
      access,
      settings: effectiveSettings,
      openLiveFeed: liveFeed.accept,
      openLivePage: livePages.accept,
      openApplianceLink: acceptLink,
    }),
  );
  // Stopped first: no new requests. The server waits for consoles and event streams to close.
  onStop("server", server.stop);
  onStop("live feed and event stream", changePublishers.stop);
  onStop("live pages", livePages.stop);
  onStop("cloud link", cloudLink.stop);
  await runAs("cloud link", () => cloudLink.start());
  const { site } = cloudLink;
  const hashing = hashStoredSecrets({
    ...{ store, catalogue, clock, log, by: access.systemContext("upgrade") },
    isShared: (type, id) => site === null || site.isShared(type, id),
  });
  onStop("hashing of PINs", hashing.stop);
  log.info({ event: "daemon.ready", url: server.url, urls: plugins.urls(), dataDir }, "ready");
  if (options.guardsLoop) loopGuard.start();
  operations.notifyReady();
  return { url: server.url, urls: plugins.urls(), cloudLink };
}

function buildInfo(): BuildInfo {
  const fqdn = hostname();
  return { app: "carillon", version: productVersion(), apiVersion: "v1", fqdn, ipAddresses: externalAddresses() };
}

function requireListenAddress(text: string): ListenAddress {
  const address = parseListenAddress(text);
  if (!address) throw invalidValue("listen", sentence("field.must-be-host-port-such-as-127-0-0-1-8080-or-8080"));
  return address;
}
