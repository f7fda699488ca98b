import { hostname } from "node:os";
import { seedAlarms } from "../alarms/alarm-hooks.ts";
import { createAreas } from "../areas/areas.ts";
import { createNewPasswords } from "../auth/new-passwords.ts";
import { createOAuthService } from "../auth/oauth.ts";
import { zoneChangeReports } from "../bells/zone-changes.ts";
import { createMissingPasswordCheck } from "../call-manager/missing-passwords.ts";
import { createLivePageDoor } from "../console/live-page-door.ts";
import { createLicensing } from "../devices/licence-update.ts";
import { createApi } from "../http/api.ts";
import { consoleBuildFolder } from "../http/console-assets.ts";
import { errorResponseOf } from "../http/error-response.ts";
import { createWebSocketUpgrade } from "../http/websocket-upgrade.ts";
import { createInputs } from "../inputs/inputs.ts";
import { createPhoneCalls } from "../inputs/phone/phone-calls.ts";
import { newId } from "../lib/ids.ts";
import { externalAddresses } from "../lib/network-route.ts";
import { productVersion } from "../lib/product-version.ts";
import { createTextToSpeechEngine } from "../media/text-to-speech.ts";
import { createSpeechSynthesizer } from "../notifications/compose/speech-synthesis.ts";
import { createLoopbackProbe } from "../notifications/engine/loopback-probe.ts";
import { dedicatedAlarmReasons } from "../ops/health/dedicated-alarms.ts";
import type { BuildInfo } from "../ops/health/endpoint-hooks.ts";
import { createHealthMonitor } from "../ops/health/health.ts";
import { createHostMetrics } from "../ops/health/host-metrics.ts";
import { createMeasurements } from "../ops/health/measurements.ts";
import { queueHealthReasons } from "../ops/health/queue-lengths.ts";
import { createQuietTests } from "../ops/health/quiet-tests.ts";
import { createLoopGuard } from "../ops/loop-guard.ts";
import { nodeSupportReasons } from "../ops/node-support.ts";
import { createEmergencyReadiness } from "../readiness/readiness.ts";
import { createScenarios } from "../scenarios/scenarios.ts";
import { createScimServer } from "../scim/server.ts";
import { createDirectoryHealthCheck } from "../sso/directory-health.ts";
import { createMissingGroups } from "../sso/missing-groups.ts";
import { createSourceComparison } from "../time-zones/disagreements.ts";
import { describeSiteZone } from "../time-zones/site-zone.ts";
import { createBellServices } from "./bell-services.ts";
import { createPhoneChecks } from "./call-managers.ts";
import { createChangePublishers } from "./change-publishers.ts";
import type { CloudLink, CloudLinkCallbacks } from "./cloud-link.ts";
import { createDaemonControlCommands } from "./control-commands.ts";
import { createControlSocket } from "./control-socket.ts";
import type { DaemonOptions } from "./daemon-options.ts";
import { createNotifications, createPlugins, pluginCallbacks } from "./delivery-channels.ts";
import { createFirstRunSetup } from "./first-run.ts";
import type { Foundation } from "./foundation.ts";
import { createSecretHashing } from "./hash-stored-secrets.ts";
import { bindHooks } from "./hooks.ts";
import { createIdentityServices } from "./identity-services.ts";
import { createImporters } from "./importers.ts";
import { seedMissingDefaults } from "./init.ts";
import type { StartOrder } from "./lifecycle.ts";
import { storeLocalEndpoint } from "./local-endpoint.ts";
import { createMonitoring } from "./monitoring.ts";
import { createNetworkMonitor } from "./network-monitor.ts";
import { createOperations } from "./operations.ts";
import { createProxiedRequestHandler } from "./proxied-requests.ts";
import { createPublicResponses } from "./public-responses.ts";
import { createReplication } from "./replication.ts";

/** As many as are kept. */
const MAX_ZONE_CHANGES = 20;

/** The modules of a daemon. */
export interface Modules {
  order: StartOrder;
  plugins: Pick<ReturnType<typeof createPlugins>, "urls">;
  link: CloudLink;
  /** Tells systemd, if it started the process, that messages can be sent. */
  onReady(): void;
}

/**
 * Builds all modules, each from those before it, and lists them in the order of their start. What a module reports to later
 * ones is passed to its `start`.
 */
export function createModules(base: Foundation, options: DaemonOptions): Modules {
  const { dataDir, data, settings, clock, events, log, endpointId, server, audio, isHub, baseUrl } = base;
  const { schedule, ssrfGuard, zoneData, bellTimes, siteZone, calendarReader } = base;
  const { store, access, catalogue } = data;
  const common = { store, clock, events, log };

  const replication = createReplication(base, options);
  const { link, failover, registry, auditNotes, auditStream, isReachable } = replication;
  const importers = createImporters({ ...base, ownZone: bellTimes.ownZone });
  const canary = createLoopbackProbe({ store, clock, log, ...audio });
  const network = createNetworkMonitor({
    ...{ settings, clock, events, log, streamer: audio.streamer, sendsMulticast: !isHub },
    ...(options.createNetworkWatch && { createWatch: options.createNetworkWatch }),
  });
  const operations = createOperations({
    ...{ ...options, clock, events, data, endpointId, schedule },
    network: network.state,
    rebuildPhoneCache: importers.phoneCache.rebuild,
    isSelfTestSilent: () => canary.isSilent,
    offsetAt: (at) => bellTimes.zones.of(bellTimes.ownZone()).offsetAt(at),
  });

  const engine = createTextToSpeechEngine(clock);
  const speech = createSpeechSynthesizer({ store, engine, by: access.systemContext("speech") });
  const plugins = createPlugins(base);
  const notificationService = createNotifications(base, { plugins, link, registry, speech });
  const { schedule: testTimes, provenWithinHours } = settings.quietTests;
  const phoneChecks = createPhoneChecks({ store, clock, log, policy: ssrfGuard, urls: plugins.urls });
  const silentTests = createQuietTests({
    ...{ store, clock, log, provenWithinHours, diagnose: phoneChecks.diagnose },
    probe: plugins.probe,
    ...(testTimes !== null && { atScheduledTimes: (work) => schedule(testTimes, work) }),
  });
  const reportsSite = settings.scenarios.syntheticSiteQuestion;
  const scenarios = createScenarios({ store, catalogue, clock, notificationService, reportsSite });
  const inputsActor = access.systemContext("inputs");
  const inputs = createInputs({
    ...{ store, clock, log, notificationService, endpointId, by: inputsActor },
    startScenario: scenarios.start,
  });
  const phoneCalls = createPhoneCalls({
    ...{ ...common, endpointId, notificationService, inputs, by: inputsActor },
    ...{ voice: notificationService.voiceCalls, hangUp: plugins.hangUp },
  });
  const phoneNumberPolicy = { ...settings.phoneNumbers, country: settings.site.country };
  const publicResponses = createPublicResponses({
    ...{ data, clock, log, notificationService, baseUrl, country: settings.site.country },
    policy: phoneNumberPolicy,
    channels: { mail: plugins.accountMessages("email"), text: plugins.accountMessages("SMS") },
  });
  const bells = createBellServices(base, { notificationService, failover });
  const { planner, ringPlans, calendars } = bells;
  const readiness = createEmergencyReadiness({
    ...{ ...common, notificationService, settings: settings.readiness },
    by: access.systemContext("readiness"),
  });
  const areas = createAreas({ ...common, notificationService, by: access.systemContext("areas") });

  const measurements = createMeasurements({ store, clock, log, host: createHostMetrics(), dataDir });
  const loopGuard = createLoopGuard({ clock, log });
  const missingGroups = createMissingGroups(clock);
  const health = createHealthMonitor({
    ...{ clock, events, reader: store },
    sources: [
      ...[measurements.healthSource, queueHealthReasons(store, clock), operations.healthSource],
      ...[auditNotes.healthReasons, auditStream.healthReasons, server.healthSource, network.healthSource],
      ...[silentTests.healthSource, dedicatedAlarmReasons(store, endpointId), canary.healthReasons],
      ...[link.healthSource, failover.healthSource, createMissingPasswordCheck(store, endpointId)],
      ...[createDirectoryHealthCheck(store), missingGroups.healthReasons, ...bells.healthSources],
      ...[readiness.healthReasons, loopGuard.healthReasons],
      () => nodeSupportReasons(process.versions.node, clock.now()),
      ...(options.source ? [options.source] : []),
    ],
  });
  const siteClock = () => ({
    ...describeSiteZone(bellTimes, zoneData, clock.now()),
    timeZone: siteZone(),
    synchronised: measurements.latest.clockSynchronised,
  });
  data.bindHooks(
    bindHooks({
      ...{ clock, catalogue, files: store.files, bells: bellTimes, planner, registry, isReachable, plugins },
      ...{ policy: ssrfGuard, phoneNumberPolicy, baseUrl, reportsSite, systemBy: () => access.systemContext("areas") },
      endpoint: { ownId: endpointId, health, failover: failover.status, buildInfo, clock: siteClock },
    }),
  );

  const licensing = createLicensing({
    ...{ store, clock, events, by: access.systemContext("devices") },
    onError: (err) => log.error({ event: "licence.apply_failed", err }, "failed to apply licence limits"),
  });
  const passwords = createNewPasswords(clock, settings.auth.passwordMinLength);
  const control = createControlSocket(
    dataDir,
    {
      ...createDaemonControlCommands({ ...data, passwords, settings: settings.auth, auditNotes }, plugins),
      ...operations.controlCommands,
      ...link.controlCommands,
      /** `{}` -> ZoneChangeReport[], newest first. */
      "time-zones.changes": async () => zoneChangeReports(store, MAX_ZONE_CHANGES),
    },
    log,
  );
  const identity = createIdentityServices({
    onPasswordLogin: (tokenId, user, password) => link.site?.confirmLogIn(tokenId, user, password),
    ...{ data, clock, events, log, policy: ssrfGuard, baseUrl, schedule, missingGroups, passwords },
    mailSender: plugins.accountMessages("email"),
  });
  const { signIn } = identity;
  const oauth = createOAuthService({
    ...{ store, access, clock },
    onError: (err) => log.error({ event: "tokens.cleanup_failed", err }, "failed to delete expired tokens"),
  });
  const firstRun = createFirstRunSetup({ dataDir, store, access, clock, signIn, passwords });
  const monitoring = createMonitoring({
    ...{ ...common, access, notificationService, health, measurements, canary, loopGuard, endpointId },
  });
  const publishers = createChangePublishers({ data, clock, events, log, ssrfGuard, endpointId });
  const effectiveSettings = { ...settings, listen: options.listen };
  const api = createApi({
    ...{ catalogue, store, access, clock, log, notificationService, plugins, silentTests, signIn, oauth, speech },
    ...{ memberships: registry.memberships, activations: registry.activations, eventStream: publishers.eventStream },
    ...{ identity: identity.desk, passwordReset: identity.passwordReset, firstRun, baseUrl, readiness, scenarios },
    ...{ ...publicResponses, ...importers, areas, bells: bellTimes, calendars, calendarReader, ssrfGuard },
    phoneConfigurations: phoneChecks.configurations,
    scim: createScimServer({ store, access, clock, baseUrl, isManagedByCloud: replication.isCloudManaged }),
    zoneData: { problems: zoneData.problems, compareSources: createSourceComparison(zoneData, clock) },
    alarms: monitoring.alarms,
    licence: operations.licence,
    maintenance: operations.maintenance,
    monitoring: { ...monitoring, version: productVersion(), health: health.report, runs: operations.runs },
    settings: effectiveSettings,
    onKnownClient: server.markKnownClient,
    link: link.adminService,
    proxyToCloud: async (request) => (await link.site?.forwardRequest(request)) ?? null,
    failover: failover.status,
    consoleFolder: consoleBuildFolder(),
  });
  const listener = api.callback();
  const livePages = createLivePageDoor({
    ...{ notificationService, clock },
    explain: (error) => errorResponseOf(error, newId()).body,
  });
  const upgrade = createWebSocketUpgrade({
    ...{ access, settings: effectiveSettings },
    openLiveFeed: publishers.liveFeed.accept,
    openLivePage: livePages.accept,
    openApplianceLink: link.acceptConnection,
  });
  const hashing = createSecretHashing({
    ...{ store, catalogue, clock, log, by: access.systemContext("upgrade") },
    isShared: (type, id) => link.site?.isShared(type, id) ?? true,
  });
  const seedRows = (): Promise<void> =>
    store.write((tx) => {
      seedMissingDefaults(tx, access.systemContext("init"));
      seedAlarms(tx, access.systemContext("alarms"));
      // Data of earlier releases do not name it.
      storeLocalEndpoint(tx, endpointId());
    });
  const fromPlugins = pluginCallbacks({ notificationService, ringPlans, publicResponses, inputs, phoneCalls });
  const { proofs } = replication;
  const fromCloud: CloudLinkCallbacks = {
    ...{ notificationService, failover: failover.linkHandlers, health: health.report },
    handleOutcomes: notificationService.handleOutcomes,
    candidates: registry.activations.candidateEndpoints,
    request: createProxiedRequestHandler({ access, proofs, catalogue, listener, url: server.url }),
    async logIn(endpoint, { email, password }) {
      const userId = await signIn.verifyPassword({ email, password }, `endpoint:${endpoint}`);
      return { proof: proofs.issue(userId, endpoint) };
    },
  };
  const started = { report: health.report, ...server };

  const order: StartOrder = [
    { name: "health", stop: health.stop },
    { name: "device groups", stop: registry.stop },
    { name: "phone calls", stop: phoneCalls.stop },
    { name: "offline ring plans", stop: ringPlans.stop },
    { name: "default rows", start: seedRows },
    [
      { name: "network", start: network.start, stop: network.stop },
      { name: "audio", start: () => audio.ready },
      { name: "speech", start: speech.start },
      { name: "plugins", start: () => plugins.start(fromPlugins), stop: () => plugins.stop() },
    ],
    { name: "recording of changes", start: link.startRecording },
    { name: "notifications", start: notificationService.start, stop: notificationService.stop },
    { name: "readiness", start: readiness.start, stop: readiness.stop },
    { name: "loopback probe", start: canary.start, stop: canary.stop },
    { name: "failover", start: failover.start, stop: failover.stop },
    ...bells.modules,
    { name: "licensing", start: licensing.start, stop: licensing.stop },
    { name: "inputs", start: inputs.start, stop: inputs.stop },
    { name: "control socket", start: control.start, stop: control.stop },
    { name: "identity", start: identity.start, stop: identity.stop },
    { name: "oauth", stop: oauth.close },
    { name: "first run", start: firstRun.start },
    { name: "areas", start: areas.start, stop: areas.stop },
    { name: "monitoring", start: monitoring.start, stop: monitoring.stop },
    { name: "silent tests", start: silentTests.start, stop: silentTests.stop },
    { name: "phone configurations", stop: phoneChecks.configurations.stop },
    ...importers.modules,
    { name: "audit notes", start: auditNotes.start, stop: auditNotes.stop },
    { name: "audit stream", start: auditStream.start, stop: auditStream.stop },
    { name: "operations", start: () => operations.start(started), stop: operations.stop },
    { name: "webhooks", start: publishers.webhooks.start, stop: publishers.webhooks.stop },
    // Stopped before all that requests use. The server waits for consoles and event streams, which are closed first.
    { name: "requests", start: () => server.setRequestListener(listener, upgrade), stop: server.stop },
    { name: "live feed and event stream", stop: publishers.stop },
    { name: "live pages", stop: livePages.stop },
    { name: "cloud link", start: () => link.start(fromCloud), stop: link.stop },
    { name: "hashing of PINs", start: hashing.start, stop: hashing.stop },
    { name: "loop guard", start: options.guardsLoop ? loopGuard.start : undefined, stop: loopGuard.stop },
  ];
  return { order, plugins, link, onReady: operations.notifyReady };
}

function buildInfo(): BuildInfo {
  const fqdn = hostname();
  return { app: "carillon", version: productVersion(), apiVersion: "v1", fqdn, ipAddresses: externalAddresses() };
}
