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

/** The whole campus: what its servers and its report work on. */
export interface SimulatorState {
  readonly options: SimulatorOptions;
  readonly clock: Clock;
  /** Aborts what still waits when the campus stops. */
  readonly signal: AbortSignal;
  /** Wall time in ms with sub-millisecond digits, never stepping: the one clock of all records. */
  readonly at: () => number;
  readonly sources: RtpEndpoints;
  readonly outgoing: PhoneHttpClient;
  readonly phones: readonly SimulatorPhone[];
  readonly zones: readonly SimulatedZone[];
  /** Null when none were asked for. */
  readonly services: SimulatedServices | null;
  readonly agents: SimulatedAgents;
  authUrl: string | null;
  expectedAudio: ExpectedAudio | null;
}

/** The next number in [0, 1) of a phone's own random sequence. */
export function nextRandom(campus: SimulatorState, phone: SimulatorPhone): number {
  return seededRandom(campus.options.seed, DRAW_SALT, phone.index, phone.randomDraws++);
}

/** How long this phone takes for the request at hand, in ms. */
export function nextResponseTimeMs(campus: SimulatorState, phone: SimulatorPhone): number {
  return sampleLatency(campus.options.latency, () => nextRandom(campus, phone));
}

/** The packet loss of the n-th listener: phones are counted first, then zones. */
export function packetLossOf(campus: SimulatorState, listener: number): PacketLoss {
  return { share: campus.options.loss, seed: campus.options.seed, listener };
}

/** Ends what a phone receives, if it receives anything; a socket of its own is closed. */
export function stopReceiving(campus: SimulatorState, phone: SimulatorPhone): void {
  const listening = phone.session;
  if (!listening || listening.leftAt !== null) return;
  listening.leftAt = campus.at();
  notifyStopped(campus, phone);
  if (listening.source.address === phone.address) campus.sources.close(listening.source);
}

const NOTIFY_TIMEOUT_MS = 5_000;
const MAX_NOTIFY_RESPONSE_BYTES = 4_096;

/** Tells whoever asked for it that the stream has ended. @source IP Phone Services Application Development Notes, RTP Streaming API */
function notifyStopped(campus: SimulatorState, phone: SimulatorPhone): void {
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
  campus.outgoing.send(errand).catch((error: Error) => recordError(phone, `notify: ${error.message}`));
}
