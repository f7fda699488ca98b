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
import { startTftpServer } from "./tftp-server.ts";
import { openSimulatedZones, zoneAsDevice } from "./zone.ts";

const ROLE_SALT = 0x701e;

/** A running simulator. */
export interface Simulator {
  /** Base URL of the control server. */
  control: string;
  /** All phones and zones in API format; phones first. */
  devices: ApiDevice[];
  /** Connection settings of each service, by name; empty without `--services`. */
  services: Record<string, Record<string, string>>;
  /** UDP port of the phones' TFTP server on 127.0.0.1; null without phones. */
  tftpPort: number | null;
  report(): SimulatorReport;
  /** Closes all sockets; the records stay readable. */
  stop(): Promise<void>;
}

/** Opens all servers and zones; rejects, after closing everything again, if a socket can't be opened. */
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

/** Opens the parts in order and adds their cleanups to `closers`. */
async function openParts(
  options: SimulatorOptions,
  clock: Clock,
  closers: (() => unknown)[],
): Promise<Omit<Simulator, "stop">> {
  const at = createWallClock(clock);
  const devices: ApiDevice[] = [];
  let state: SimulatorState | null = null;
  const requireState = (): SimulatorState => {
    if (!state) throw new BugError("the simulator was used before it was built");
    return state;
  };
  const control = await startControlServer({ state: requireState, devices: () => devices });
  const sources = new RtpEndpoints(at);
  const outgoing = createPhoneHttpClient(clock);
  const ending = new AbortController();
  // Every delayed response adds a listener.
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
  const tftp =
    phones.length > 0 ? await startTftpServer({ clock, phones, authUrl: () => requireState().authUrl }) : null;
  if (tftp) closers.push(tftp.stop);
  devices.push(...phones.map((phone) => phoneAsDevice(phone, server.port, authUrl)), ...zones.map(zoneAsDevice));
  return {
    control: `http://127.0.0.1:${control.port}`,
    devices,
    services: services?.connectionSettings() ?? {},
    tftpPort: tftp?.port ?? null,
    report: () => createSimulatorReport(requireState()),
  };
}

/** Wall time in ms with microsecond resolution; follows the monotonic clock from now on. */
function createWallClock(clock: Clock): () => number {
  const epochMs = clock.now() - clock.monotonicMs();
  return () => Math.round((epochMs + clock.monotonicMs()) * 1000) / 1000;
}

/** Loaded only if used. */
async function loadServices(deps: SimulatedServiceDeps): Promise<SimulatedServices> {
  const { openSimulatedServices } = await import("./services/services.ts");
  return openSimulatedServices(deps);
}

/** The seed decides which phones are offline, mute or without RTP; no phone has two of these roles. */
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
