import type { IncomingMessage, RequestListener } from "node:http";
import type { Clock } from "../lib/clock.ts";
import type { TooManyRequestsError } from "../lib/errors.ts";
import { createFairQueue, type FairQueue, type FairQueueClient } from "../lib/fair-queue.ts";
import type { Settings } from "../settings/schema.ts";
import type { ClientIdentifier } from "./client-identity.ts";
import { splitTarget } from "./incoming-request.ts";

/** Waiting requests per request that a client may have under way. */
const WAITING_PER_RUNNING = 8;
/**
 * Requests that send, end or confirm an emergency; those of known clients start before all others.
 * @source docs/decisions/0410-admission-control.md, Urgent requests
 */
const URGENT_PATHS =
  /^\/api\/(?:v1|onprem\/v1)\/(?:notifications|scenario-notifications|incidents|triggers|messages|m2m-inputs|plugins\/m2m|on-premises)(?:\/|$)|^\/api\/v1\/users\/[^/]+\/notifications\//;
/** Streams without an end, which would use up the requests of their client. */
const STREAMS = "/api/v1/events";

/** Admission control: decides when a request starts, before any work is done for it. */
export interface Admission {
  /** A listener that starts the requests of `listener` in turn. */
  admit(listener: RequestListener): RequestListener;
  /** Throws TooManyRequestsError if the request was started only to be refused. */
  assertAdmitted(raw: IncomingMessage): void;
  readonly counts: FairQueue["counts"];
}

export interface AdmissionDeps {
  clock: Clock;
  limits: Settings["api"]["concurrentRequests"];
  identify: ClientIdentifier;
  /** True while an emergency is not audible yet: other requests make way for it. */
  isEmergencyUnderWay(): boolean;
  /** Gets each request of a client with a valid token or session. */
  onKnownClient(raw: IncomingMessage): void;
}

/** Creates it; limits are per user or directory, and per address for clients without a valid token or session. */
export function createAdmission(deps: AdmissionDeps): Admission {
  const { clock, limits, identify } = deps;
  const queue = createFairQueue({ clock, isHeld: deps.isEmergencyUnderWay });
  const refusals = new WeakMap<IncomingMessage, TooManyRequestsError>();
  const clientOf = ({ key, isKnown }: ReturnType<ClientIdentifier>): FairQueueClient => {
    const maxRunning = isKnown ? limits.user : limits.address;
    return { key, maxRunning, maxWaiting: maxRunning * WAITING_PER_RUNNING };
  };
  return {
    counts: queue.counts,
    admit: (listener) => (raw, response) => {
      const identity = identify(raw);
      if (identity.isKnown) deps.onKnownClient(raw);
      if (isStream(raw)) return listener(raw, response);
      const refuse = (error: TooManyRequestsError): void => {
        refusals.set(raw, error);
        listener(raw, response);
      };
      try {
        queue.add({
          client: clientOf(identity),
          isUrgent: identity.isKnown && isUrgent(raw),
          isAbandoned: () => response.closed || raw.socket.destroyed,
          run: () =>
            new Promise((resolve) => {
              response.once("close", resolve);
              listener(raw, response);
            }),
          refuse,
        });
      } catch (error) {
        refuse(error as TooManyRequestsError);
      }
    },
    assertAdmitted(raw) {
      const refusal = refusals.get(raw);
      if (refusal) throw refusal;
    },
  };
}

function isUrgent({ method, url = "/" }: IncomingMessage): boolean {
  const { path, search } = splitTarget(url);
  return (method !== "GET" || search.includes("_method=")) && method !== "HEAD" && URGENT_PATHS.test(path);
}

function isStream({ url = "/" }: IncomingMessage): boolean {
  return splitTarget(url).path === STREAMS;
}
