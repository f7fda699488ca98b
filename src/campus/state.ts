import type { Clock } from "../base/clock.ts";
import type { Agents } from "./agents.ts";
import { chance } from "./chance.ts";
import type { Loss } from "./heard.ts";
import { drawLatency } from "./latency.ts";
import type { CampusOptions } from "./options.ts";
import type { Outgoing } from "./outgoing.ts";
import { noteError, type Phone } from "./phone.ts";
import type { Programme } from "./programme.ts";
import type { Services } from "./services/services.ts";
import type { Sources } from "./sources.ts";
import type { Zone } from "./zone.ts";

const DRAW_SALT = 0xd0;

/** The whole campus: what its servers and its report work on. */
export interface CampusState {
  readonly options: CampusOptions;
  readonly clock: Clock;
  /** Aborts what still waits when the campus stops. */
  readonly signal: AbortSignal;
  /** Wall time in ms with sub-millisecond digits, never stepping: the one clock of all records. */
  readonly at: () => number;
  readonly sources: Sources;
  readonly outgoing: Outgoing;
  readonly phones: readonly Phone[];
  readonly zones: readonly Zone[];
  /** Null when none were asked for. */
  readonly services: Services | null;
  readonly agents: Agents;
  authUrl: string | null;
  programme: Programme | null;
}

/** The next number in [0, 1) of a phone's own random sequence. */
export function draw(campus: CampusState, phone: Phone): number {
  return chance(campus.options.seed, DRAW_SALT, phone.index, phone.draws++);
}

/** How long this phone takes for the request at hand, in ms. */
export function drawAnswerTime(campus: CampusState, phone: Phone): number {
  return drawLatency(campus.options.latency, () => draw(campus, phone));
}

/** The packet loss of the n-th listener: phones are counted first, then zones. */
export function lossOf(campus: CampusState, listener: number): Loss {
  return { share: campus.options.loss, seed: campus.options.seed, listener };
}

/** Ends what a phone receives, if it receives anything; a socket of its own is closed. */
export function leave(campus: CampusState, phone: Phone): void {
  const listening = phone.listening;
  if (!listening || listening.leftAt !== null) return;
  listening.leftAt = campus.at();
  notifyStopped(campus, phone);
  if (listening.source.address === phone.address) campus.sources.close(listening.source);
}

const NOTIFY_TIMEOUT_MS = 5_000;
const NOTIFY_MOST_BYTES = 4_096;

/** Tells whoever asked for it that the stream has ended. @source IP Phone Services Application Development Notes, RTP Streaming API */
function notifyStopped(campus: CampusState, phone: Phone): void {
  const [, host, port, path] = /^Notify:http:([^:]+):(\d+):(.*)$/.exec(phone.onStopped ?? "") ?? [];
  phone.onStopped = null;
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
    ...{ timeoutMs: NOTIFY_TIMEOUT_MS, maxBytes: NOTIFY_MOST_BYTES },
  };
  campus.outgoing.get(errand).catch((error: Error) => noteError(phone, `notify: ${error.message}`));
}
