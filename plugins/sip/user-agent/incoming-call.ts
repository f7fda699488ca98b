import type { Clock, Timer } from "#plugin-api";
import { dialogRequest, sessionHeaders } from "./call-messages.ts";
import { CAPABILITIES, refuseExtensions, refuseMethod } from "./capabilities.ts";
import { createAnsweredDialog, type SipDialog, tagParameter } from "./dialog.ts";
import type { Hop } from "./hop.ts";
import { callIdOf, type RequestSender } from "./request-sender.ts";
import type { Respond } from "./server-transactions.ts";
import { createSessionTimer, MIN_SESSION_S } from "./session-timer.ts";
import type { SipCall } from "./sip-call.ts";
import { cseqOf, firstHeader, headerValues, type SipHeaders, type SipRequest } from "./sip-message.ts";
import { TRANSACTION_TIMEOUT_MS } from "./timers.ts";

/** Callbacks of an incoming call; `onEnded` is called once, as the last one. */
export interface IncomingCallHandlers {
  /** SDP answer to an offer of the caller; null if it is not acceptable. */
  answerTo(offer: string): string | null;
  /** SDP offer, for a caller that leaves the offer to this side. */
  offer(): string;
  /** SDP of the caller: once the caller has acknowledged the answer, and on each change. */
  onSession(description: string): void;
  /** An INFO within the call, such as a pressed key. */
  onInfo(contentType: string, body: string): void;
  /** The caller cancelled, hung up, or is gone. */
  onEnded(): void;
}

/** An INVITE that begins a call. It must be answered or refused. */
export interface IncomingCall extends Pick<SipCall, "handleRequest" | "handleAck" | "hangUp"> {
  /** Call-ID. */
  readonly id: string;
  readonly invite: SipRequest;
  /** Address of the sender. */
  readonly from: Hop;
  /** False once it was cancelled, refused or ended. */
  readonly isActive: boolean;
  refuse(status: number, reason: string, headers?: SipHeaders): void;
  /** Answers the call; its handlers are called from then on. Resolves with false if it was refused instead. */
  answer(handlers: IncomingCallHandlers): Promise<boolean>;
  /** Handles the CANCEL of the INVITE; false if it is for another request. */
  handleCancel(request: SipRequest, respond: Respond): boolean;
}

export interface IncomingCallDeps {
  clock: Clock;
  outbound: RequestSender;
  /** Tag of this side, as in the responses to the INVITE. */
  localTag: string;
  /** The call is finished and may be forgotten. */
  onOver(): void;
}

/** User part of the contact. */
const CONTACT_USER = "carillon";
const BYE_TIMEOUT_MS = 2_000;
/** CSeq numbers reserved per request: it may be challenged. */
const SEQUENCE_STEP = 10;

/** Accepts an INVITE outside a dialog, which is confirmed as received at once. @source RFC 3261 §13.3 */
export function receiveCall(
  { message: invite, from }: { message: SipRequest; from: Hop },
  respondToInvite: Respond,
  { clock, outbound, localTag, onOver }: IncomingCallDeps,
): IncomingCall {
  const id = callIdOf(invite);
  const remoteTag = tagParameter(firstHeader(invite, "From"));
  const peerMethods = headerValues(invite, "Allow").map((method) => method.toUpperCase());
  let state: "arrived" | "answered" | "confirmed" | "over" = "arrived";
  let handlers: IncomingCallHandlers | null = null;
  let dialog: SipDialog | null = null;
  let sequence = 1;
  let ackTimer: Timer | null = null;
  /** CSeq numbers of 2xx responses without ACK; `offered`: with our offer, so that the ACK has the answer. */
  const unacknowledged = new Map<number, { description: string | null }>();

  const finish = (): void => {
    if (state === "over") return;
    state = "over";
    ackTimer?.cancel();
    sessionTimer.stop();
    onOver();
  };
  const endByPeer = (): void => {
    if (state === "over") return;
    finish();
    handlers?.onEnded();
  };
  /** The caller is gone, or no longer has the session. */
  const drop = (): void => {
    const created = dialog;
    endByPeer();
    if (created) void sendBye(created);
  };
  const sessionTimer = createSessionTimer({ clock, refresh: () => void refresh().catch(() => {}), expire: drop });

  const nextSequence = (): number => {
    sequence += SEQUENCE_STEP;
    return sequence;
  };
  const sendBye = async (created: SipDialog): Promise<void> => {
    const bye = dialogRequest(created, id, { method: "BYE", number: nextSequence(), headers: [], body: "" });
    await outbound.request(created.hop, bye, null).catch(() => {});
  };

  /** Without UPDATE the session ends when the interval is over, unless the caller refreshes it. */
  const refresh = async (): Promise<void> => {
    if (!dialog || state === "over" || !peerMethods.includes("UPDATE")) return;
    const { uri } = await outbound.contact(from, CONTACT_USER);
    const headers: SipHeaders = [...sessionHeaders(uri), ...sessionTimer.refreshHeaders()];
    const update = dialogRequest(dialog, id, { method: "UPDATE", number: nextSequence(), headers, body: "" });
    const response = await outbound.request(dialog.hop, update, null);
    if (response.status < 300) sessionTimer.adopt(response);
    else if (response.status === 481) drop();
  };

  /** Responds with 2xx to a request that begins or changes the session; false if it is refused. */
  const agree = async (request: SipRequest, respond: Respond, own: IncomingCallHandlers): Promise<boolean> => {
    const { body, method } = request;
    const isInvite = method === "INVITE";
    const answer = body === "" ? null : own.answerTo(body);
    if (body !== "" && answer === null) {
      respond(488, "Not Acceptable Here", [["Warning", '304 carillon "Media type not available"']]);
      return false;
    }
    const timer = sessionTimer.answer(request);
    if (!timer) {
      respond(422, "Session Interval Too Small", [["Min-SE", String(MIN_SESSION_S)]]);
      return false;
    }
    const { uri } = await outbound.contact(from, CONTACT_USER);
    if (state === "over") return false;
    const description = answer ?? (isInvite ? own.offer() : "");
    const type: SipHeaders = description === "" ? [] : [["Content-Type", "application/sdp"]];
    const routes = headerValues(request, "Record-Route").map((route) => ["Record-Route", route] as const);
    if (isInvite) unacknowledged.set(cseqOf(request).number, { description: answer === null ? null : body });
    respond(200, "OK", [...routes, ...sessionHeaders(uri), ...timer, ...type], description);
    if (!isInvite && answer !== null) own.onSession(body);
    return true;
  };

  const change = (request: SipRequest, respond: Respond, own: IncomingCallHandlers): void => {
    // An unacknowledged INVITE must be completed first. @source RFC 3261 §14.2
    if (request.method === "INVITE" && unacknowledged.size > 0)
      return void respond(500, "Server Internal Error", [["Retry-After", "1"]]);
    agree(request, respond, own).catch(() => respond(500, "Server Internal Error"));
  };

  respondToInvite(100, "Trying");
  return {
    id,
    invite,
    from,
    get isActive() {
      return state !== "over";
    },
    refuse(status, reason, headers = []) {
      if (state !== "arrived") return;
      finish();
      respondToInvite(status, reason, headers);
    },
    async answer(own) {
      if (state !== "arrived") return false;
      handlers = own;
      try {
        dialog = await createAnsweredDialog(invite, localTag, from);
        const isAgreed = state === "arrived" && (await agree(invite, respondToInvite, own));
        if (!isAgreed) {
          finish();
          return false;
        }
      } catch {
        this.refuse(500, "Server Internal Error");
        return false;
      }
      state = "answered";
      // The 2xx was repeated all this time. @source RFC 3261 §13.3.1.4
      ackTimer = clock.after(TRANSACTION_TIMEOUT_MS, drop);
      return true;
    },
    async hangUp() {
      const created = dialog;
      if (state === "arrived") return this.refuse(480, "Temporarily Unavailable");
      if (state === "over" || !created) return;
      finish();
      const timedOut = new Promise<void>((resolve) => void clock.after(BYE_TIMEOUT_MS, resolve, { background: true }));
      await Promise.race([sendBye(created), timedOut]);
    },
    handleCancel(request, respond) {
      if (cseqOf(request).number !== cseqOf(invite).number) return false;
      respond(200, "OK");
      // An answered call is ended by BYE. @source RFC 3261 §9.2
      if (state !== "arrived") return true;
      endByPeer();
      respondToInvite(487, "Request Terminated");
      return true;
    },
    handleRequest(request, respond) {
      const isOurs = tagParameter(firstHeader(request, "To")) === localTag;
      if (state === "over" || !dialog || !handlers || !isOurs) return false;
      if (tagParameter(firstHeader(request, "From")) !== remoteTag) return false;
      if (refuseExtensions(request, respond)) return true;
      const { number } = cseqOf(request);
      if (request.method !== "CANCEL") {
        if (number <= dialog.remoteSequence) {
          respond(500, "Out Of Order");
          return true;
        }
        dialog.remoteSequence = number;
      }
      if (request.method === "BYE") {
        respond(200, "OK");
        endByPeer();
      } else if (request.method === "INVITE" || request.method === "UPDATE") change(request, respond, handlers);
      else if (request.method === "INFO") {
        respond(200, "OK");
        handlers.onInfo(firstHeader(request, "Content-Type") ?? "", request.body);
      } else if (request.method === "OPTIONS") respond(200, "OK", CAPABILITIES);
      else if (request.method === "CANCEL") respond(200, "OK");
      else if (request.method === "NOTIFY") respond(489, "Bad Event");
      else refuseMethod(request, respond);
      return true;
    },
    handleAck(request) {
      const { number } = cseqOf(request);
      const agreed = unacknowledged.get(number);
      if (!agreed || state === "over" || tagParameter(firstHeader(request, "To")) !== localTag) return;
      unacknowledged.delete(number);
      if (state === "answered") state = "confirmed";
      ackTimer?.cancel();
      handlers?.onSession(agreed.description ?? request.body);
    },
  };
}
