import { WebSocket } from "ws";
import type { Clock } from "../../lib/clock.ts";
import { CallerError, UpstreamError } from "../../lib/errors.ts";
import type { ResolvedAddress } from "../../lib/ssrf-guard.ts";
import type { OrganisationBaseline } from "../initial-sync/organisation-baseline.ts";
import { parseEnrolmentResponse } from "../protocol/frame-schemas.ts";
import { connectionOptions, linkUrl } from "../transport/hub-address.ts";
import type { EnrolmentRequest, IssuedIdentity } from "./enrolment-service.ts";

/** Spoken by an appliance that is not known yet: one message each way. own choice: on the link's own address, so that one address is open to appliances */
export const ENROL_PROTOCOL = "carillon-enrol.1";

/** What the cloud answers a good code with. */
export interface EnrolmentResponse extends IssuedIdentity {
  ground: OrganisationBaseline;
}

/** Lets an appliance in by its code; throws CallerError in words. */
export type EnrolmentHandler = (asked: EnrolmentRequest) => Promise<EnrolmentResponse>;

/** Whoever says nothing for so long, or asks more than once, is cut off. own choice */
const HANDSHAKE_TIMEOUT_MS = 15_000;
/** An appliance waits so long, as the cloud has much to look up. own choice */
const RESPONSE_TIMEOUT_MS = 2 * HANDSHAKE_TIMEOUT_MS;
/** Longest answer, in bytes: it names everybody by address, and who administers. own choice: 100,000 of each */
const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;

/** The cloud's end: answers the one question and closes. */
export function serveEnrolment(socket: WebSocket, desk: EnrolmentHandler, clock: Pick<Clock, "after">): void {
  const patience = clock.after(HANDSHAKE_TIMEOUT_MS, () => socket.terminate(), { background: true });
  const answer = (value: object): void => {
    if (socket.readyState !== socket.OPEN) return;
    socket.send(JSON.stringify(value));
    socket.close();
  };
  socket.once("message", (data) => {
    Promise.resolve()
      .then(() => desk(parseRequest(data.toString())))
      .then(
        (enrolled) => answer({ enrolled }),
        (error: unknown) =>
          answer({ refused: error instanceof CallerError ? error.message : "The cloud could not do it." }),
      )
      .finally(() => patience.cancel());
  });
}

function parseRequest(text: string): EnrolmentRequest {
  const asked = JSON.parse(text) as Partial<EnrolmentRequest> | null;
  const { code, endpoint, request } = asked ?? {};
  if (typeof code !== "string" || typeof endpoint !== "string" || typeof request !== "string") {
    throw new CallerError("invalid-value", "code, endpoint and request are expected.");
  }
  return { code, endpoint, request };
}

/** How the cloud is reached by an appliance that is not known yet; see HubAddress. */
export interface EnrolmentRoute {
  clock: Pick<Clock, "after">;
  authority: string | null;
  proxy: string | null;
  /** Where its name was found to lead, and nowhere else; looked up unless given. A proxy looks names up itself. */
  resolved?: ResolvedAddress | undefined;
}

/** Asks the cloud at `hub`, its base URL. Rejects with UpstreamError in words. */
export function requestEnrolment(
  hub: string,
  asked: EnrolmentRequest,
  { clock, authority, proxy, resolved }: EnrolmentRoute,
): Promise<EnrolmentResponse> {
  const url = linkUrl(hub);
  return new Promise((resolve, reject) => {
    const fail = (words: string): void => reject(new UpstreamError("upstream", words));
    const address = { proxy, found: resolved, authorities: authority ? [authority] : [] };
    const socket = new WebSocket(url, [ENROL_PROTOCOL], {
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      perMessageDeflate: false,
      maxPayload: MAX_RESPONSE_BYTES,
      ...connectionOptions(url, address),
    });
    socket.on("error", (error) => fail(`The cloud at ${hub} can't be reached: ${error.message}`));
    socket.once("open", () => socket.send(JSON.stringify(asked)));
    socket.once("message", (data) => {
      const answer = parseResponse(data.toString());
      if (answer?.enrolled) resolve(answer.enrolled);
      else fail(answer ? (answer.refused ?? "The cloud refused.") : `What ${hub} answered is no answer of a cloud.`);
      socket.close();
    });
    const patience = clock.after(RESPONSE_TIMEOUT_MS, () => {
      fail("The cloud did not answer in time.");
      socket.terminate();
    });
    socket.once("close", () => {
      patience.cancel();
      fail("The cloud broke off.");
    });
  });
}

function parseResponse(
  text: string,
): { enrolled?: EnrolmentResponse | undefined; refused?: string | undefined } | null {
  try {
    return parseEnrolmentResponse(JSON.parse(text));
  } catch {
    return null;
  }
}
