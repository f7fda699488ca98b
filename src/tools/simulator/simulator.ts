import { setMaxListeners } from "node:events";
import type { Clock } from "../../lib/clock.ts";
import { BugError } from "../../lib/errors.ts";
import type { ApiDevice } from "./api-device.ts";
import { startControlServer } from "./control-server.ts";
import type { SimulatorOptions } from "./options.ts";
import { createSimulatorPhone, phoneAsDevice, type SimulatorPhone } from "./phone.ts";
import { createPhoneHttpClient } from "./phone-http-client.ts";
import { startPhoneServer } from "./phone-server.ts";
import { createSimulatorReport, type SimulatorReport } from "./report.ts";
import { RtpEndpoints } from "./rtp-endpoints.ts";
import { seededShuffle } from "./seeded-random.ts";
import type { SimulatedServiceDeps } from "./services/service.ts";
import type { SimulatedServices } from "./services/services.ts";
import { createSimulatedAgents } from "./simulated-agents.ts";
import type { SimulatorState } from "./simulator-state.ts";
import { openSimulatedZones, zoneAsDevice } from "./zone.ts";

const ROLE_SALT = 0x701e;

/** A running campus. */
export interface Simulator {
  /** Base URL of the remote control. */
  control: string;
  /** Every phone and zone, ready to be POSTed to the API; phones first. */
  devices: ApiDevice[];
  /** What an appliance must know of each service, by its name; empty when none were asked for. */
  services: Record<string, Record<string, string>>;
  report(): SimulatorReport;
  /** Closes every socket; the records stay readable. */
  stop(): Promise<void>;
}

/** Builds the campus and opens its servers and zones; rejects, with everything closed again, when a socket can't be had. */
export async function startSimulator(options: SimulatorOptions, clock: Clock): Promise<Simulator> {
  const closers: (() => unknown)[] = [];
  const stop = async (): Promise<void> => void (await Promise.all(closers.splice(0).map((close) => close())));
  try {
    return { ...(await openParts(options, clock, closers)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Opens part after part, adding to `closers` what ends each. */
async function openParts(
  options: SimulatorOptions,
  clock: Clock,
  closers: (() => unknown)[],
): Promise<Omit<Simulator, "stop">> {
  const at = createWallClock(clock);
  const devices: ApiDevice[] = [];
  let state: SimulatorState | null = null;
  const known = (): SimulatorState => {
    if (!state) throw new BugError("the campus was used before it was built");
    return state;
  };
  const control = await startControlServer({ state: known, devices: () => devices });
  const sources = new RtpEndpoints(at);
  const outgoing = createPhoneHttpClient(clock);
  const ending = new AbortController();
  // Every answer that a phone still delays listens to it.
  setMaxListeners(0, ending.signal);
  closers.push(
    control.stop,
    () => sources.stop(),
    outgoing.stop,
    () => ending.abort(),
  );
  const zones = await openSimulatedZones(options.zones, control.port, sources, at);
  const phones = createPhones(options);
  const services = options.services ? await loadServices({ at, sources }) : null;
  if (services) closers.push(services.stop);
  const { authUrl } = options;
  const agents = createSimulatedAgents({ clock, signal: ending.signal, at, sources, outgoing });
  const parts = { sources, outgoing, phones, zones, services, agents };
  state = { options, clock, signal: ending.signal, at, ...parts, authUrl, expectedAudio: null };
  const server = await startPhoneServer(state);
  closers.push(server.stop);
  devices.push(...phones.map((phone) => phoneAsDevice(phone, server.port, authUrl)), ...zones.map(zoneAsDevice));
  return {
    control: `http://127.0.0.1:${control.port}`,
    devices,
    services: services?.connectionSettings() ?? {},
    report: () => createSimulatorReport(known()),
  };
}

/** Wall time in ms, to the microsecond, that follows the monotonic clock from now on. */
function createWallClock(clock: Clock): () => number {
  const epochMs = clock.now() - clock.monotonicMs();
  return () => Math.round((epochMs + clock.monotonicMs()) * 1000) / 1000;
}

/** The phones, with the seed deciding which are off line, which are mute and which know no RTP; none is two of these. */
/** What they need is loaded where somebody wants them alone. */
async function loadServices(needs: SimulatedServiceDeps): Promise<SimulatedServices> {
  const { openSimulatedServices } = await import("./services/services.ts");
  return openSimulatedServices(needs);
}

function createPhones(options: SimulatorOptions): SimulatorPhone[] {
  const indexes = Array.from({ length: options.phones }, (_, index) => index);
  const order = seededShuffle(indexes, options.seed, ROLE_SALT);
  const offline = new Set(order.splice(0, options.offline));
  const mute = new Set(order.splice(0, options.mute));
  const noRtp = new Set(order.splice(0, options.noRtp));
  return indexes.map((index) =>
    createSimulatorPhone(index, { online: !offline.has(index), mute: mute.has(index), rtp: !noRtp.has(index) }),
  );
}
