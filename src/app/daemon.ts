import type { RequestListener } from "node:http";
import { hostname } from "node:os";
import { createOAuth } from "../access/oauth.ts";
import { createScim } from "../access/scim/scim.ts";
import { writeAlarms } from "../alarms/alarm-behaviour.ts";
import { createAreas } from "../areas/areas.ts";
import { createSpeechEngine } from "../audio/speech-engine.ts";
import { createAddressPolicy } from "../base/address-policy.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { invalidValue } from "../base/errors.ts";
import { createEvents } from "../base/events.ts";
import { newId } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { createBellPlanner, createBells } from "../bells/bells.ts";
import { canRingAlone } from "../bells/lone-rings.ts";
import { areMadeUpFor } from "../bells/ring-book.ts";
import { createRingPlans, type RingPlans } from "../bells/ring-plans.ts";
import { createBellTimes } from "../bells/timetables.ts";
import { createYearCheck } from "../bells/year-check.ts";
import { createCanary } from "../broadcast/canary.ts";
import { createSpeech } from "../broadcast/speech.ts";
import type { TakeTextMessage } from "../broadcast/text-replies.ts";
import { missingPasswords } from "../call-manager/missing-passwords.ts";
import { createLivePageDoor } from "../console/live-page-door.ts";
import { createLicensing } from "../devices/licensing.ts";
import type { BuildInfo } from "../health/endpoint-behaviour.ts";
import { type HealthSource, watchHealth } from "../health/health.ts";
import { thisMachine } from "../health/machine.ts";
import { createMeasurements } from "../health/measurements.ts";
import { missedBells } from "../health/missed-bells.ts";
import { otherAlarms } from "../health/own-alarms.ts";
import { queueFaults } from "../health/queues.ts";
import { createQuietTests } from "../health/quiet-tests.ts";
import { directoryFaults } from "../identity/directory-faults.ts";
import { createInputs, type Inputs } from "../inputs/inputs.ts";
import { cronSchedule } from "../loaders/cron.ts";
import type { SettingsFile } from "../operations/settings-report.ts";
import { createApi } from "../rest/api.ts";
import { builtConsoleFolder } from "../rest/console-files.ts";
import { answerOf } from "../rest/error-answer.ts";
import { zoneFor } from "../rest/local-time.ts";
import { createUpgrade } from "../rest/upgrade.ts";
import { createScenarios } from "../scenarios/scenarios.ts";
import type { AnyResource } from "../schema/resource.ts";
import { type ListenAddress, parseListen } from "../settings/addresses.ts";
import type { Settings } from "../settings/schema.ts";
import type { SharedLog } from "../store/shared-log.ts";
import type { Behaviour } from "../store/store.ts";
import { type Answering, createAnswering } from "./answering.ts";
import { isSetUp, notSetUp, openData, requireDatabase } from "./appliance.ts";
import { bindBehaviours } from "./behaviours.ts";
import { joinChannels } from "./channels.ts";
import { startControlSocket } from "./control-socket.ts";
import { createCovering } from "./covering.ts";
import { type Ending, stopInReverse } from "./ending.ts";
import { createFirstRun } from "./first-run.ts";
import { createForwarded } from "./forwarded.ts";
import { createIdentity } from "./identity.ts";
import { completeGround } from "./init.ts";
import { createLinking, type Linking } from "./linking.ts";
import { loadDeclarations, OWN_DECLARATIONS } from "./load-declarations.ts";
import { type Loading, startLoading } from "./loading.ts";
import { createOperations } from "./operations.ts";
import { ordersOf } from "./orders.ts";
import { createTelling } from "./outbound.ts";
import { followOwnEndpoint } from "./own-endpoint.ts";
import { createRegistry } from "./registry.ts";
import { ROOM_TABLES } from "./room-tables.ts";
import { startServing } from "./secure-server.ts";
import type { CallerAt } from "./server.ts";
import { ownAddresses, startSound } from "./sound.ts";
import { ownVersion } from "./version.ts";
import { startWatch } from "./watch.ts";

/** What a daemon is started with. */
export interface DaemonOptions {
  dataDir: string;
  /** `HOST:PORT`; port 0 takes a free one. */
  listen: string;
  settings: Settings;
  /** Where the settings come from, if from a file. */
  settingsFile?: SettingsFile;
  log: Log;
  clock?: Clock;
  /** Those that Carillon brings along unless given. */
  declarations?: readonly AnyResource[];
  /** The disk failed while writing: the process must end with code 74. Called once. */
  onFatal: (error: unknown) => void;
  /** It is the cloud of an organisation, to which appliances are linked. */
  isHub?: boolean;
  /** Who comes from a port of this machine, where a front hands callers on. */
  callerAt?: CallerAt;
  /** Where the other nodes of the cloud have the same rows from. */
  shared?: SharedLog;
  /** Who knows what else is wrong: with what was there before the daemon. */
  source?: HealthSource;
  /** Somebody ordered a restart: the daemon must be stopped and started again. */
  onRestart?: () => void;
}

/** A running appliance. */
export interface Daemon {
  /** Base URL of the main server; the API lies at `<url>/api/v1`. */
  readonly url: string;
  /** Public URLs of the plugins' own ports: `{"ip-phones/auth": "http://…"}`. */
  readonly urls: Readonly<Record<string, string>>;
  /** Its end of links to others. */
  readonly linking: Linking;
  /** Ends everything in reverse order, within 5 s; may be called more than once. */
  stop(): Promise<void>;
}

/**
 * Starts the appliance in `dataDir`; resolves once messages can be sent. Throws UpstreamError (about the data directory)
 * when there is no appliance in it or another daemon uses it, CallerError for `listen`, Node's error for a taken address.
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { clock = systemClock, log } = options;
  const endings: Ending[] = [];
  let stopping: Promise<void> | null = null;
  const stop = (): Promise<void> => {
    stopping ??= stopInReverse(endings, clock, log);
    return stopping;
  };
  try {
    return { ...(await compose(options, clock, endings)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Builds one thing upon the other; `endings` gets how each is ended. */
async function compose(options: DaemonOptions, clock: Clock, endings: Ending[]): Promise<Omit<Daemon, "stop">> {
  const { dataDir, settings, log } = options;
  const address = listenAddress(options.listen);
  const events = createEvents((error, name) => log.error({ err: error, event: name }, "a listener failed"));
  const end = (name: string, stop: () => unknown): void => void endings.push({ name, stop });

  requireDatabase(dataDir);
  const sound = startSound(settings, clock, log);
  end("sound", sound.stop);
  const declarations = options.declarations ?? (await loadDeclarations([OWN_DECLARATIONS]));
  const behaviours: Record<string, Behaviour> = {};
  const data = openData({
    dataDir,
    declarations,
    behaviours,
    tables: ROOM_TABLES,
    clock,
    events,
    log,
    onFatal: options.onFatal,
    keepsSpareRoom: true,
    ...(options.shared && { shared: options.shared }),
  });
  end("data", data.close);
  const { store, access, catalogue } = data;
  if (!isSetUp(store)) throw notSetUp(dataDir);

  const { isHub = false, callerAt } = options;
  const server = await startServing({ dataDir, address, settings, clock, log, isHub, ...(callerAt && { callerAt }) });
  end("server that was never opened", server.stop);
  const measurements = createMeasurements({ store, clock, log, machine: thisMachine(), dataDir });
  const own = followOwnEndpoint(store, events);
  const endpointId = own.id;
  end("own endpoint", own.stop);
  // Set below: orders and requests are carried out once all runs.
  let listener: RequestListener;
  let loading: Loading;
  const rebuildPhones = () => loading.phoneCache.rebuild();
  const canary = createCanary({ store, clock, log, ...sound });
  const isSilent = (): boolean => canary.isSilent;
  const operations = createOperations({ ...options, clock, events, data, endpointId, rebuildPhones, isSilent });
  const linking = createLinking({
    ...{ ...options, data, clock, events, endpointId },
    broadcaster: () => broadcaster,
    circle: () => covering.circle,
    health: () => health.report(),
    candidates: (devices) => registry.activations.candidates(devices),
    request: createForwarded({ access, catalogue, listener: () => listener, url: () => server.url }),
  });
  const hasCloud = (): boolean => linking.isConnected();
  const isOfCloud = (): boolean => linking.site !== null && data.recording.recorder !== null;
  const covering = createCovering({
    ...{ store, settings, clock, events, log, endpointId, hasCloud, by: access.systemBy("failover") },
    link: linking.site,
  });
  const missed = missedBells(store, clock, endpointId, {
    areThere: () => canRingAlone(store, clock.now()),
    havePlayed: (asked) => areMadeUpFor(store, asked),
  });
  const quietTests = createQuietTests({
    ...{ store, clock, log, provenWithinHours: settings.quietTests.provenWithinHours },
    probe: (provider, device) => plugins.probe(provider, device),
  });
  // Set below, as it needs the broadcaster.
  let ringPlans: RingPlans | undefined;
  const bells = createBellTimes({ ownZone: () => zoneFor(store, null), rules: settings.bells });
  const yearCheck = createYearCheck({ reader: store, clock, events, log, times: bells });
  const sources = [
    ...[measurements.source, yearCheck.source, missed, queueFaults(store, clock), operations.source, server.source],
    ...[quietTests.source, otherAlarms(store, endpointId), canary.source, linking.source, covering.source],
    missingPasswords(store, endpointId),
    directoryFaults(store),
    () => ringPlans?.source() ?? [],
    ...(options.source ? [options.source] : []),
  ];
  const health = watchHealth({ clock, events, reader: store, sources });
  end("health", health.close);
  const siteClock = () => ({ timeZone: zoneFor(store, null), synchronised: measurements.last.clockSynchronised });
  const endpoint = { ownId: endpointId, health, failover: covering.status, buildInfo, clock: siteClock };
  const speech = createSpeech({ store, engine: createSpeechEngine(clock), by: access.systemBy("speech") });
  const { shareOut } = covering;
  const { hub } = linking;
  // A cloud hears no beats: whose link stands can act.
  const isReachable = hub
    ? (id: string): boolean => id === endpointId() || hub.connected().includes(id)
    : covering.isReachable;
  const registry = createRegistry({ store, clock, events, log, isReachable, ownId: endpointId, shareOut });
  end("registry", registry.stop);
  // Set below: no plugin runs before they are made.
  let inputs: Inputs;
  let answering: Answering;
  const takeText: TakeTextMessage = (message) => answering.textReplies(message);
  const takeInput = (plugin: string, input: unknown): Promise<void> => inputs.take(plugin, input);
  const baseUrl = (): string => settings.api.publicUrl?.replace(/\/+$/, "") ?? server.url;
  const joined = { clock, events, data, sound, speech, registry, endpointId, takeInput, takeText, baseUrl, linking };
  const channels = joinChannels({ ...options, ...joined, ringPlans: () => ringPlans });
  const { plugins, broadcaster } = channels;
  const reportsSite = settings.scenarios.syntheticSiteQuestion;
  const scenarios = createScenarios({ store, catalogue, clock, broadcaster, reportsSite });
  const startScenario = scenarios.start;
  inputs = createInputs({ store, clock, log, broadcaster, startScenario, endpointId, by: access.systemBy("inputs") });
  answering = createAnswering({ data, clock, log, broadcaster, baseUrl });
  ringPlans = createRingPlans({ store, clock, log, times: bells, broadcaster, by: access.systemBy("bells") });
  end("ring plans", ringPlans.stop);
  const { files } = store;
  const policy = createAddressPolicy(settings.network);
  const planner = createBellPlanner({ store, clock, times: bells });
  const rules = {
    clock,
    catalogue,
    files,
    endpoint,
    bells,
    planner,
    registry,
    isReachable,
    plugins,
    policy,
    baseUrl,
    systemBy: () => access.systemBy("areas"),
  };
  Object.assign(behaviours, bindBehaviours({ ...rules, reportsSite }));

  await store.write((tx) => {
    completeGround(tx, access.systemBy("init"));
    writeAlarms(tx, access.systemBy("alarms"));
  });
  end("plugins", () => plugins.stop());
  await Promise.all([plugins.start(), sound.ready, speech.start()]);
  linking.record();
  end("broadcaster", () => broadcaster.stop());
  await broadcaster.start();
  end("canary", canary.stop);
  canary.start();
  const bellsBy = access.systemBy("bells");
  const ringing = createBells({
    store,
    clock,
    log,
    times: bells,
    planner,
    broadcaster,
    by: bellsBy,
    endpointId,
    ...{ turn: covering.turn, isStale: covering.isStale, standInTurn: covering.standInTurn },
  });
  end("failover", covering.stop);
  await covering.start();
  end("bells", ringing.stop);
  // Bells are rung by the appliances that have the devices, each for itself. @source interfaces.md, One acting side
  if (!options.isHub) ringing.start();
  end("check of the next year", yearCheck.stop);
  yearCheck.start();
  const onLicence = (error: unknown): void => log.error({ err: error }, "licence filters were not applied");
  const licensing = createLicensing({ store, clock, events, by: access.systemBy("devices"), onError: onLicence });
  end("licensing", licensing.stop);
  licensing.start();
  end("inputs", inputs.stop);
  inputs.start();
  const orders = { ...ordersOf(data, plugins), ...operations.orders, ...linking.orders };
  const control = await startControlSocket(dataDir, orders, log);
  end("control socket", control.stop);
  const served = { ...settings, listen: options.listen };
  const identity = createIdentity({ data, clock, events, log, policy, baseUrl });
  const { signIn } = identity;
  end("identity providers", identity.stop);
  identity.start();
  const onLeft = (error: unknown): void => log.error({ err: error }, "lapsed tokens were not cleared away");
  const oauth = createOAuth({ store, access, clock, onError: onLeft });
  end("oauth", oauth.close);
  const firstRun = createFirstRun({ dataDir, store, access, clock, signIn });
  const areas = createAreas({ store, clock, events, log, broadcaster, by: access.systemBy("areas") });
  end("areas", areas.stop);
  areas.start();
  const watch = startWatch({
    store,
    access,
    clock,
    events,
    log,
    broadcaster,
    health,
    measurements,
    canary,
    endpointId,
  });
  end("alarms", watch.stop);
  const { schedule: testsAt } = settings.quietTests;
  const stopTesting = testsAt === null ? () => undefined : cronSchedule(testsAt, () => void quietTests.run());
  end("quiet tests", () => {
    stopTesting();
    return quietTests.stop();
  });
  loading = await startLoading({ dataDir, data, settings, clock, events, log, endpointId, end });
  const telling = createTelling({ data, clock, events, log, policy, endpointId });
  const { eventStream, webhooks, live } = telling;
  const api = createApi({
    ...{
      catalogue,
      store,
      access,
      clock,
      log,
      broadcaster,
      plugins,
      memberships: registry.memberships,
      activations: registry.activations,
      quietTests,
      signIn,
      identity: identity.desk,
      oauth,
      scim: createScim({ store, access, clock, baseUrl, isOfCloud }),
      firstRun,
      eventStream,
      ...answering,
      areas,
      bells,
      baseUrl,
      alarms: watch.alarms,
      licence: operations.licence,
      upkeep: operations.upkeep,
      watch: { ...watch, version: ownVersion(), health: health.report, runs: operations.runs },
      speech,
    },
    ...loading,
    scenarios,
    settings: served,
    link: linking.desk,
    handOn: async (request) => (await linking.site?.handOn(request)) ?? null,
    policy,
    failover: covering.status,
    consoleFolder: builtConsoleFolder(),
  });
  end("operations", operations.stop);
  await operations.start({ report: health.report, listen: settings.tls.listen ?? options.listen, ...server });
  end("webhooks", webhooks.stop);
  webhooks.start();
  const { accept } = linking;
  const pages = createLivePageDoor({ broadcaster, clock, explain: (error) => answerOf(error, newId()).body });
  listener = api.callback();
  server.open(
    listener,
    createUpgrade({ access, settings: served, follow: live.accept, speak: pages.accept, link: accept }),
  );
  // First of all, nobody may ask for anything more; the server waits for the connections of consoles and event streams.
  end("server", server.stop);
  end("live feed and event stream", telling.stop);
  end("live pages", pages.stop);
  end("link", linking.stop);
  await linking.start();
  log.info({ url: server.url, urls: plugins.urls(), dataDir }, "ready");
  operations.ready();
  return { url: server.url, urls: plugins.urls(), linking };
}

function buildInfo(): BuildInfo {
  const fqdn = hostname();
  return { app: "carillon", version: ownVersion(), apiVersion: "v1", fqdn, ipAddresses: ownAddresses() };
}

function listenAddress(text: string): ListenAddress {
  const address = parseListen(text);
  if (!address) throw invalidValue("listen", "It is HOST:PORT, such as 127.0.0.1:8080 or [::]:8080.");
  return address;
}
