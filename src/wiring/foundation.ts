import { createCalendarReader } from "../bells/calendar-reader.ts";
import { createLocalTimeContext } from "../bells/timetables.ts";
import type { Clock } from "../lib/clock.ts";
import { invalidValue } from "../lib/errors.ts";
import { createEvents } from "../lib/events.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { createSsrfGuard } from "../lib/ssrf-guard.ts";
import { type ListenAddress, parseListenAddress } from "../settings/network-addresses.ts";
import { hasServedPlainHttp } from "../store/migrations/0013-plain-http.ts";
import { createCronScheduler } from "../time-zones/cron-schedule.ts";
import { installedZonesFolder, watchZoneData } from "../time-zones/zone-data.ts";
import { applianceTimeZone } from "../web-pages/local-time.ts";
import { startApiServer } from "./api-server.ts";
import { isInitialized, openApplianceData } from "./appliance-data.ts";
import { startAudioServices } from "./audio-services.ts";
import type { DaemonOptions } from "./daemon-options.ts";
import type { DaemonModule } from "./lifecycle.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "./load-declarations.ts";
import { trackLocalEndpoint } from "./local-endpoint.ts";
import { announceMulticastStreams } from "./multicast-streams.ts";
import { notInitializedError, requireDatabase } from "./require-database.ts";
import { INTERNAL_TABLES } from "./schema.ts";

/** What all modules build on: the data, the address of the server, audio, time zones and events. */
export type Foundation = Awaited<ReturnType<typeof openFoundation>>;

/**
 * Opens the data and takes the address; adds each module to `opened` once it must be stopped. Throws UpstreamError (about the
 * data directory) if there is no appliance or another daemon uses it, CallerError for `listen`, Node's error for an address in
 * use.
 */
export async function openFoundation(options: DaemonOptions, clock: Clock, opened: DaemonModule[]) {
  const { dataDir, settings, log, isHub = false, callerAt } = options;
  const address = requireListenAddress(options.listen);
  const events = createEvents((error, name) =>
    log.error({ event: "events.listener_failed", err: error, name }, "event listener failed"),
  );
  requireDatabase(dataDir);
  const audio = startAudioServices(settings, clock, log);
  opened.push({ name: "audio", stop: audio.stop });
  announceMulticastStreams(audio.streamer, events);
  const data = openApplianceData({
    dataDir,
    declarations: options.declarations ?? (await loadDeclarations([BUILT_IN_DECLARATIONS])),
    tables: INTERNAL_TABLES,
    clock,
    events,
    log,
    onFatal: options.onFatal,
    keepsDiskReserve: true,
    ...(options.shared && { shared: options.shared }),
  });
  opened.push({ name: "data", stop: data.close });
  const { store } = data;
  if (!isInitialized(store)) throw notInitializedError(dataDir);
  const server = await startApiServer({
    ...{ dataDir, address, clock, log, isHub, isEarlierData: hasServedPlainHttp(store) },
    // Nodes of one cloud stand behind what leads to the active one.
    settings: options.shared && settings.tls.listen === "auto" ? { ...settings, tls: { listen: null } } : settings,
    ...(callerAt && { callerAt }),
  });
  opened.push({ name: "API server", stop: server.stop });
  events.on("network.changed", server.networkChanged);
  const localEndpoint = trackLocalEndpoint(store, events);
  opened.push({ name: "local endpoint", stop: localEndpoint.stop });
  const endpointId = localEndpoint.id;
  const zoneFolders = { folder: settings.timeZones.folder, installedFolder: installedZonesFolder(dataDir) };
  const zoneData = watchZoneData(zoneFolders, { clock, log });
  opened.push({ name: "time zone data", stop: zoneData.stop });
  const siteZone = (): string => applianceTimeZone(store, endpointId());
  const bellTimes = createLocalTimeContext({ ownZone: siteZone, rules: settings.bells, data: zoneData });
  const calendarReader = createCalendarReader({ clock, zoneFolders, zoneData });
  opened.push({ name: "calendar reader", stop: calendarReader.close });
  return {
    ...{ dataDir, settings, clock, events, log, isHub },
    ...{ data, server, audio, endpointId },
    ...{ zoneFolders, zoneData, siteZone, bellTimes, calendarReader },
    schedule: createCronScheduler({ clock, ...bellTimes }),
    ssrfGuard: createSsrfGuard(settings.network),
    /** Public base URL of the appliance. */
    baseUrl: (): string => settings.api.publicUrl?.replace(/\/+$/, "") ?? server.url,
  };
}

function requireListenAddress(text: string): ListenAddress {
  const address = parseListenAddress(text);
  if (!address) throw invalidValue("listen", sentence("field.must-be-host-port-such-as-127-0-0-1-8080-or-8080"));
  return address;
}
