import type { Clock } from "../../lib/clock.ts";
import type { ExpectedAudio } from "./expected-audio.ts";
import { sampleLatency } from "./latency.ts";
import type { SimulatorOptions } from "./options.ts";
import { recordError, type SimulatorPhone } from "./phone.ts";
import type { PhoneHttpClient } from "./phone-http-client.ts";
import type { PacketLoss } from "./reception-analysis.ts";
import type { RtpEndpoints } from "./rtp-endpoints.ts";
import { seededRandom } from "./seeded-random.ts";
import type { SimulatedServices } from "./services/services.ts";
import type { SimulatedAgents } from "./simulated-agents.ts";
import type { SimulatedZone } from "./zone.ts";

const DRAW_SALT = 0xd0;

/** Shared state of the simulator's servers and its report. */
export interface SimulatorState {
  readonly options: SimulatorOptions;
  readonly clock: Clock;
  /** Aborted when the simulator stops. */
  readonly signal: AbortSignal;
  /** Wall time in ms with microsecond resolution, never stepping: the clock of all records. */
  readonly at: () => number;
  readonly sources: RtpEndpoints;
  readonly outgoing: PhoneHttpClient;
  readonly phones: readonly SimulatorPhone[];
  readonly zones: readonly SimulatedZone[];
  /** Null without `--services`. */
  readonly services: SimulatedServices | null;
  readonly agents: SimulatedAgents;
  authUrl: string | null;
  expectedAudio: ExpectedAudio | null;
}

/** Next number in [0, 1) of a phone's own random sequence. */
export function nextRandom(simulator: SimulatorState, phone: SimulatorPhone): number {
  return seededRandom(simulator.options.seed, DRAW_SALT, phone.index, phone.randomDraws++);
}

/** Response time of this phone for the current request, ms. */
export function nextResponseTimeMs(simulator: SimulatorState, phone: SimulatorPhone): number {
  return sampleLatency(phone.latency ?? simulator.options.latency, () => nextRandom(simulator, phone));
}

/** Packet loss of the n-th listener: phones first, then zones. */
export function packetLossOf(simulator: SimulatorState, listener: number): PacketLoss {
  return { share: simulator.options.loss, seed: simulator.options.seed, listener };
}

/** Stops the stream that a phone receives, if any, and closes a unicast socket. */
export function stopReceiving(simulator: SimulatorState, phone: SimulatorPhone): void {
  const listening = phone.session;
  if (!listening || listening.leftAt !== null) return;
  listening.leftAt = simulator.at();
  notifyStopped(simulator, phone);
  if (listening.source.address === phone.address) simulator.sources.close(listening.source);
}

const NOTIFY_TIMEOUT_MS = 5_000;
const MAX_NOTIFY_RESPONSE_BYTES = 4_096;

/** Calls the Notify URI after the stream has ended. @source IP Phone Services Application Development Notes, RTP Streaming API */
function notifyStopped(simulator: SimulatorState, phone: SimulatorPhone): void {
  const [, host, port, path] = /^Notify:http:([^:]+):(\d+):(.*)$/.exec(phone.stoppedNotifyUri ?? "") ?? [];
  phone.stoppedNotifyUri = null;
  if (host === undefined) return;
  const origin = phone.callActive ? "system" : "application";
  const event = `<notifyMediaEvent type="stopped" origin="${origin}"><mediaStream id="${phone.index}"/></notifyMediaEvent>`;
  const errand = {
    ...{
      url: `http://${host}:${port}/${path}`,
      localAddress: phone.address,
      form: `DATA=${encodeURIComponent(event)}`,
    },
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
    ...{ timeoutMs: NOTIFY_TIMEOUT_MS, maxBytes: MAX_NOTIFY_RESPONSE_BYTES },
  };
  simulator.outgoing.send(errand).catch((error: Error) => recordError(phone, `notify: ${error.message}`));
}
