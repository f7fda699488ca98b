import { setMaxListeners } from "node:events";
import type { Clock } from "../base/clock.ts";
import { BugError } from "../base/errors.ts";
import { createAgents } from "./agents.ts";
import { shuffled } from "./chance.ts";
import { startControlServer } from "./control-server.ts";
import type { Device } from "./device.ts";
import type { CampusOptions } from "./options.ts";
import { createOutgoing } from "./outgoing.ts";
import { newPhone, type Phone, phoneDevice } from "./phone.ts";
import { startPhoneServer } from "./phone-server.ts";
import { type CampusReport, makeReport } from "./report.ts";
import type { ServiceNeeds } from "./services/service.ts";
import type { Services } from "./services/services.ts";
import { Sources } from "./sources.ts";
import type { CampusState } from "./state.ts";
import { openZones, zoneDevice } from "./zone.ts";

const ROLE_SALT = 0x701e;

/** A running campus. */
export interface Campus {
  /** Base URL of the remote control. */
  control: string;
  /** Every phone and zone, ready to be POSTed to the API; phones first. */
  devices: Device[];
  /** What an appliance must know of each service, by its name; empty when none were asked for. */
  services: Record<string, Record<string, string>>;
  report(): CampusReport;
  /** Closes every socket; the records stay readable. */
  stop(): Promise<void>;
}

/** Builds the campus and opens its servers and zones; rejects, with everything closed again, when a socket can't be had. */
export async function startCampus(options: CampusOptions, clock: Clock): Promise<Campus> {
  const closers: (() => unknown)[] = [];
  const stop = async (): Promise<void> => void (await Promise.all(closers.splice(0).map((close) => close())));
  try {
    return { ...(await open(options, clock, closers)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Opens part after part, adding to `closers` what ends each. */
async function open(options: CampusOptions, clock: Clock, closers: (() => unknown)[]): Promise<Omit<Campus, "stop">> {
  const at = timeSource(clock);
  const devices: Device[] = [];
  let state: CampusState | null = null;
  const known = (): CampusState => {
    if (!state) throw new BugError("the campus was used before it was built");
    return state;
  };
  const control = await startControlServer({ campus: known, devices: () => devices });
  const sources = new Sources(at);
  const outgoing = createOutgoing(clock);
  const ending = new AbortController();
  // Every answer that a phone still delays listens to it.
  setMaxListeners(0, ending.signal);
  closers.push(
    control.stop,
    () => sources.stop(),
    outgoing.stop,
    () => ending.abort(),
  );
  const zones = await openZones(options.zones, control.port, sources, at);
  const phones = makePhones(options);
  const services = options.services ? await servicesOf({ at, sources }) : null;
  if (services) closers.push(services.stop);
  const { authUrl } = options;
  const agents = createAgents({ clock, signal: ending.signal, at, sources, outgoing });
  const parts = { sources, outgoing, phones, zones, services, agents };
  state = { options, clock, signal: ending.signal, at, ...parts, authUrl, programme: null };
  const server = await startPhoneServer(state);
  closers.push(server.stop);
  devices.push(...phones.map((phone) => phoneDevice(phone, server.port, authUrl)), ...zones.map(zoneDevice));
  return {
    control: `http://127.0.0.1:${control.port}`,
    devices,
    services: services?.facts() ?? {},
    report: () => makeReport(known()),
  };
}

/** Wall time in ms, to the microsecond, that follows the monotonic clock from now on. */
function timeSource(clock: Clock): () => number {
  const epochMs = clock.now() - clock.monotonicMs();
  return () => Math.round((epochMs + clock.monotonicMs()) * 1000) / 1000;
}

/** The phones, with the seed deciding which are off line, which are mute and which know no RTP; none is two of these. */
/** What they need is loaded where somebody wants them alone. */
async function servicesOf(needs: ServiceNeeds): Promise<Services> {
  const { openServices } = await import("./services/services.ts");
  return openServices(needs);
}

function makePhones(options: CampusOptions): Phone[] {
  const indexes = Array.from({ length: options.phones }, (_, index) => index);
  const order = shuffled(indexes, options.seed, ROLE_SALT);
  const offline = new Set(order.splice(0, options.offline));
  const mute = new Set(order.splice(0, options.mute));
  const noRtp = new Set(order.splice(0, options.noRtp));
  return indexes.map((index) =>
    newPhone(index, { online: !offline.has(index), mute: mute.has(index), rtp: !noRtp.has(index) }),
  );
}
