import { WebSocket } from "ws";
import type { Clock } from "../../lib/clock.ts";
import { CallerError, UpstreamError } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type { ResolvedAddress } from "../../lib/ssrf-guard.ts";
import type { OrganisationBaseline } from "../initial-sync/organisation-baseline.ts";
import { parseEnrolmentResponse } from "../protocol/frame-schemas.ts";
import { connectionOptions, linkUrl } from "../transport/hub-address.ts";
import type { EnrolmentRequest, IssuedIdentity } from "./enrolment-service.ts";

/**
 * Subprotocol of enrolment: one message each way, on the address of the link.
 * @source docs/decisions/0301-link-transport.md
 */
export const ENROL_PROTOCOL = "carillon-enrol.1";

/** The cloud's response to a valid code. */
export interface EnrolmentResponse extends IssuedIdentity {
  ground: OrganisationBaseline;
}

/** Enrols an appliance by its code; throws CallerError. */
export type EnrolmentHandler = (asked: EnrolmentRequest) => Promise<EnrolmentResponse>;

/** A connection without a request is closed after this time. @source docs/decisions/0301-link-transport.md */
const HANDSHAKE_TIMEOUT_MS = 15_000;
/** @source docs/decisions/0301-link-transport.md */
const RESPONSE_TIMEOUT_MS = 2 * HANDSHAKE_TIMEOUT_MS;
/**
 * Longest response in bytes: it lists up to 100,000 users and administrators.
 * @source docs/decisions/0301-link-transport.md
 */
const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;

/** Cloud side: answers one request and closes. */
export function serveEnrolment(socket: WebSocket, enrol: EnrolmentHandler, clock: Pick<Clock, "after">): void {
  const timer = clock.after(HANDSHAKE_TIMEOUT_MS, () => socket.terminate(), { background: true });
  const answer = (value: object): void => {
    if (socket.readyState !== socket.OPEN) return;
    socket.send(JSON.stringify(value));
    socket.close();
  };
  socket.once("message", (data) => {
    Promise.resolve()
      .then(() => enrol(parseRequest(data.toString())))
      .then(
        (enrolled) => answer({ enrolled }),
        (error: unknown) =>
          answer({
            refused: error instanceof CallerError ? error.message : sentence("error.enrolment-failed-in-the-cloud"),
          }),
      )
      .finally(() => timer.cancel());
  });
}

function parseRequest(text: string): EnrolmentRequest {
  const asked = JSON.parse(text) as Partial<EnrolmentRequest> | null;
  const { code, endpoint, request, mode } = asked ?? {};
  if (typeof code !== "string" || typeof endpoint !== "string" || typeof request !== "string") {
    throw new CallerError("invalid-value", sentence("error.code-endpoint-and-request-must-be-strings"));
  }
  return { code, endpoint, request, mode: mode === "adopt" || mode === "join" ? mode : undefined };
}

/** How an appliance that is not enrolled reaches the cloud; see HubAddress. */
export interface EnrolmentRoute {
  clock: Pick<Clock, "after">;
  authority: string | null;
  proxy: string | null;
  /**
   * Resolved address of the host, the only one that is connected to; looked up unless given. A proxy resolves names
   * itself.
   */
  resolved?: ResolvedAddress | undefined;
}

/** Requests enrolment at the cloud's base URL. Rejects with UpstreamError. */
export function requestEnrolment(
  hub: string,
  asked: EnrolmentRequest,
  { clock, authority, proxy, resolved }: EnrolmentRoute,
): Promise<EnrolmentResponse> {
  const url = linkUrl(hub);
  return new Promise((resolve, reject) => {
    const fail = (message: string): void => reject(new UpstreamError("upstream", message));
    const address = { proxy, resolved, authorities: authority ? [authority] : [] };
    const socket = new WebSocket(url, [ENROL_PROTOCOL], {
      handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      perMessageDeflate: false,
      maxPayload: MAX_RESPONSE_BYTES,
      ...connectionOptions(url, address),
    });
    socket.on("error", (error) =>
      fail(sentence("error.the-cloud-at-hub-cannot-be-reached-problem", { hub, problem: error.message })),
    );
    socket.once("open", () => socket.send(JSON.stringify(asked)));
    socket.once("message", (data) => {
      const answer = parseResponse(data.toString());
      if (answer?.enrolled) resolve(answer.enrolled);
      else
        fail(
          answer
            ? (answer.refused ?? sentence("error.the-cloud-refused-the-enrolment"))
            : sentence("error.the-response-of-hub-is-not-an-enrolment-response", { hub }),
        );
      socket.close();
    });
    const timer = clock.after(RESPONSE_TIMEOUT_MS, () => {
      fail(sentence("error.the-cloud-did-not-respond-in-time"));
      socket.terminate();
    });
    socket.once("close", () => {
      timer.cancel();
      fail(sentence("error.the-cloud-closed-the-connection"));
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
