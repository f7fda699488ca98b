import type { Clock, Timer } from "#plugin-api";
import { sentence } from "../sentences.ts";
import { dialogRequest, sessionHeaders, sipRetryAfterMs } from "./call-messages.ts";
import { CAPABILITIES, refuseExtensions, refuseMethod } from "./capabilities.ts";
import { createSipDialog, type SipDialog, tagParameter } from "./dialog.ts";
import { createDigestSession, MAX_ROUNDS } from "./digest-session.ts";
import { createRedirection } from "./redirection.ts";
import { createReliableProvisionals, type ReliableProvisionals } from "./reliable-provisionals.ts";
import type { RequestSender } from "./request-sender.ts";
import type { Respond } from "./server-transactions.ts";
import { createSessionTimer, MIN_SESSION_S } from "./session-timer.ts";
import type { CallFailure, CallHandlers, CallParameters, SipCall } from "./sip-call.ts";
import {
  cseqOf,
  firstHeader,
  headerValues,
  type SipHeaders,
  type SipRequest,
  type SipResponse,
} from "./sip-message.ts";
import { formatSipUri } from "./sip-uri.ts";

export interface SipCallDeps {
  clock: Clock;
  outbound: RequestSender;
  newId(): string;
  /** The call is finished and may be forgotten. */
  onOver(call: SipCall): void;
}

/** A call without a provisional response for this time has failed. */
const PROVISIONAL_TIMEOUT_MS = 6_000;
/** Timeout of BYE and CANCEL. */
const BYE_TIMEOUT_MS = 2_000;
/** A finished call is remembered this long for late messages. */
const LINGER_MS = 32_000;

/** Retries of a call with a longer session interval. */
const MAX_INTERVAL_RETRIES = 2;
/** Statuses of a refresh by which the other side has no such session any more. @source RFC 4028 §10 */
const SESSION_GONE_STATUSES = [404, 408, 410, 416, 481, 482, 483, 484, 485, 604];

/** Places a call. */
export function placeCall(callee: CallParameters, handlers: CallHandlers, deps: SipCallDeps): SipCall {
  const { clock, outbound } = deps;
  const callId = deps.newId();
  const localTag = deps.newId();
  const to = `<${formatSipUri(callee.uri)}>`;
  const redirection = createRedirection(callee.uri);
  /** Where the call goes: changed by redirections. */
  let uri = formatSipUri(callee.uri);
  let { hop, credentials } = callee;
  let authentication = createDigestSession(credentials, deps.newId);
  /** CSeq number of the INVITE, and the last one that may have been used. */
  let sequence = 1;
  let lastSequence = 1;
  let intervalRetries = 0;
  let local = "";
  let dialog: SipDialog | null = null;
  let state: "calling" | "answered" | "over" = "calling";
  let hasProvisional = false;
  let invite: SipRequest | null = null;
  let ack: SipRequest | null = null;
  let isHangingUp = false;
  let isCancelled = false;
  /** The answer of a provisional response by the tag of its branch, if the final one has none. */
  const earlyAnswers = new Map<string, { description: string; isReliable: boolean }>();
  let provisionals: ReliableProvisionals | null = null;
  /** Our offer in the 2xx to a re-INVITE without one, by its CSeq number: the answer comes with the ACK. */
  let offeredIn: number | null = null;
  /** A request of ours that changes the session is unanswered. */
  let isRefreshing = false;
  let peerMethods: readonly string[] = [];
  let onGone = (): void => {};
  const hungUp = new Promise<void>((resolve) => {
    onGone = resolve;
  });
  let provisionalTimer: Timer | null = null;

  /** Still calling and not cancelled. */
  const isActive = (): boolean => state === "calling" && !isHangingUp;
  const finish = (notify: () => void): void => {
    if (state === "over") return;
    state = "over";
    provisionalTimer?.cancel();
    sessionTimer.stop();
    onGone();
    clock.after(LINGER_MS, () => deps.onOver(call), { background: true });
    if (!isHangingUp) notify();
  };
  const fail = (failure: CallFailure): void => finish(() => handlers.onFailed(failure));
  const failWithError = (error: Error): void => fail({ status: null, reason: error.message });

  const sessionTimer = createSessionTimer({
    clock,
    refresh: () => void refreshSession().catch(() => {}),
    expire: () => endSession(),
  });

  /** Reserves CSeq numbers for a request that may be challenged. */
  const takeSequence = (): number => {
    const first = lastSequence + 1;
    lastSequence += MAX_ROUNDS + 1;
    return first;
  };

  const inDialogRequest = (created: SipDialog, method: string, number: number, more: SipHeaders = [], body = "") =>
    dialogRequest(created, callId, { method, number, headers: more, body });

  const headersOf = (method: string): SipHeaders => [
    ["From", local],
    ["To", to],
    ["Call-ID", callId],
    ["CSeq", `${sequence} ${method}`],
  ];

  const start = async (): Promise<void> => {
    const contact = await outbound.contact(hop, callee.caller.user);
    local = `${JSON.stringify(callee.caller.name)} <${callee.caller.address ?? contact.uri}>;tag=${localTag}`;
    const headers: SipHeaders = [
      ...headersOf("INVITE"),
      ...sessionHeaders(contact.uri),
      ...sessionTimer.refreshHeaders(),
      ...callee.headers,
      ...authentication.headers,
      ["Content-Type", "application/sdp"],
    ];
    if (isHangingUp) return finish(() => {});
    provisionals = createReliableProvisionals({
      dialogOf: (response) => createDialog(response).catch(() => null),
      acknowledge: (early, rack) => void sendPrack(early, rack),
    });
    invite = await outbound.send(
      hop,
      { method: "INVITE", uri, headers, body: callee.offer },
      {
        onProvisional: handleProvisional,
        onFinal: (response) => void handleFinal(response).catch(failWithError),
        onFailed: (reason) => fail({ status: null, reason }),
        isWanted: isActive,
      },
    );
    if (hasProvisional) return;
    provisionalTimer?.cancel();
    provisionalTimer = clock.after(PROVISIONAL_TIMEOUT_MS, () =>
      fail({ status: null, reason: sentence("no-response") }),
    );
  };

  const handleProvisional = (response: SipResponse): void => {
    hasProvisional = true;
    provisionalTimer?.cancel();
    const remoteTag = tagParameter(firstHeader(response, "To"));
    const isReliable = provisionals?.isReliable(response) ?? false;
    if (response.body !== "" && earlyAnswers.size < MAX_EARLY_ANSWERS && !earlyAnswers.get(remoteTag)?.isReliable)
      earlyAnswers.set(remoteTag, { description: response.body, isReliable });
    // Also of a call that is being cancelled: the other side would repeat it.
    provisionals?.handle(response, remoteTag);
    if (!isActive()) cancel();
    else handlers.onRinging?.(response.status);
  };

  const handleFinal = async (response: SipResponse): Promise<void> => {
    const { status, reason } = response;
    if (status < 300) return handleAnswer(response);
    if (isActive() && authentication.addChallenge(response, { method: "INVITE", uri })) return startAgain();
    const isTooShort = status === 422 && intervalRetries++ < MAX_INTERVAL_RETRIES && sessionTimer.lengthen(response);
    if (isActive() && isTooShort) return startAgain();
    redirection.add(response);
    if (isActive() && (await redirectCall())) return startAgain();
    const retryAfterMs = sipRetryAfterMs(response);
    fail({ status, reason, ...(retryAfterMs === null ? {} : { retryAfterMs }) });
  };

  const startAgain = (): Promise<void> => {
    sequence = lastSequence + 1;
    lastSequence = sequence;
    hasProvisional = false;
    earlyAnswers.clear();
    return start();
  };

  /** Takes the next target of a redirection that may be called; false without any. */
  const redirectCall = async (): Promise<boolean> => {
    for (let next = redirection.next(); next && callee.redirect; next = redirection.next()) {
      const target = await callee.redirect(next).catch(() => null);
      // An encrypted call, whose offer may have keys, stays encrypted. @source RFC 3261 §26.4.4
      if (!target || (callee.hop.protocol === "tls" && target.protocol !== "tls")) continue;
      // The password is for the server that was asked, not for any other that it names.
      credentials = target.host === callee.hop.host ? callee.credentials : null;
      authentication = createDigestSession(credentials, deps.newId);
      [hop, uri] = [target, formatSipUri(next)];
      return isActive();
    }
    return false;
  };

  const createDialog = (response: SipResponse): Promise<SipDialog> =>
    createSipDialog(response, { callId, localTag, local, uri }, hop);

  const handleAnswer = async (response: SipResponse): Promise<void> => {
    const created = await createDialog(response).catch(failWithError);
    if (!created) return;
    dialog = created;
    ack = await acknowledge(created, sequence);
    provisionalTimer?.cancel();
    // Failed or cancelled while it was being answered.
    if (!isActive()) return sendBye(created);
    state = "answered";
    peerMethods = headerValues(response, "Allow").map((method) => method.toUpperCase());
    sessionTimer.adopt(response);
    handlers.onAnswered(response.body || (earlyAnswers.get(created.remoteTag)?.description ?? ""));
  };

  /** The ACK repeats the credentials, because it cannot be challenged. @source RFC 3261 §22.1 */
  const acknowledge = (
    created: SipDialog,
    number: number,
    proofs: SipHeaders = authentication.headers,
  ): Promise<SipRequest> =>
    outbound.sendWithoutTransaction(created.hop, inDialogRequest(created, "ACK", number, proofs));

  const sendPrack = async (early: SipDialog, rack: string): Promise<void> => {
    const prack = inDialogRequest(early, "PRACK", takeSequence(), [["RAck", rack]]);
    await outbound.request(early.hop, prack, credentials).catch(() => {});
  };

  const sendBye = async (created: SipDialog): Promise<void> => {
    const leave = (): void => finish(() => {});
    clock.after(BYE_TIMEOUT_MS, leave, { background: true });
    const goodbye = inDialogRequest(created, "BYE", takeSequence());
    await outbound
      .request(created.hop, goodbye, credentials)
      .catch(() => {})
      .then(leave);
  };

  const cancel = (): void => {
    // A device may send many provisional responses.
    if (!invite || isCancelled) return;
    isCancelled = true;
    // CANCEL has the branch and CSeq number of the INVITE. @source RFC 3261 §9.1
    const headers: SipHeaders = [["Via", firstHeader(invite, "Via") ?? ""], ...headersOf("CANCEL")];
    outbound.sendWithVia(
      hop,
      { kind: "request", method: "CANCEL", uri, headers, body: "" },
      {
        onFinal: () => {},
        onFailed: () => {},
      },
    );
  };

  /** The other side no longer has the session, or did not refresh it. */
  const endSession = (): void => {
    const created = dialog;
    if (state !== "answered" || !created) return;
    finish(handlers.onEnded);
    void sendBye(created);
  };

  const refreshSession = async (): Promise<void> => {
    if (state !== "answered" || isHangingUp || isRefreshing || !dialog) return;
    isRefreshing = true;
    const response = await sendRefresh(dialog)
      .catch(() => null)
      .finally(() => {
        isRefreshing = false;
      });
    if (state !== "answered" || isHangingUp) return;
    if (response === null || SESSION_GONE_STATUSES.includes(response.status)) endSession();
    else if (response.status < 300) {
      sessionTimer.adopt(response);
      if (response.body !== "") handlers.onAnswered(response.body);
    } else if (response.status === 422 && sessionTimer.lengthen(response)) void refreshSession();
    // Otherwise the session may go on until it expires.
  };

  /** UPDATE leaves the media alone, so it is preferred. @source RFC 4028 §7.4 */
  const sendRefresh = async (created: SipDialog): Promise<SipResponse> => {
    const method = peerMethods.includes("UPDATE") ? "UPDATE" : "INVITE";
    const contact = await outbound.contact(created.hop, callee.caller.user);
    const headers: SipHeaders = [...sessionHeaders(contact.uri), ...sessionTimer.refreshHeaders()];
    if (method === "UPDATE")
      return outbound.request(created.hop, inDialogRequest(created, method, takeSequence(), headers), credentials);
    const proofs = createDigestSession(credentials, deps.newId);
    const body = callee.offerAgain?.() ?? callee.offer;
    for (;;) {
      const number = takeSequence();
      const more: SipHeaders = [...headers, ...proofs.headers, ["Content-Type", "application/sdp"]];
      const draft = inDialogRequest(created, method, number, more, body);
      const response = await new Promise<SipResponse>((resolve, reject) => {
        const onFailed = (reason: string): void => reject(new Error(reason));
        outbound.send(created.hop, draft, { onFinal: resolve, onFailed }).catch(reject);
      });
      if (response.status < 300) ack = await acknowledge(created, number, proofs.headers);
      else if (proofs.addChallenge(response, { method, uri: created.target })) continue;
      return response;
    }
  };

  /** Handles a request that may change the session: re-INVITE or UPDATE. */
  const answerOffer = (request: SipRequest, respond: Respond): void => {
    const { method, body } = request;
    // Both sides try to change it. @source RFC 3261 §14.2
    if (isRefreshing && (method === "INVITE" || body !== "")) return void respond(491, "Request Pending");
    const answer = body === "" ? null : callee.answerTo(body);
    if (body !== "" && answer === null) return void respond(488, "Not Acceptable Here");
    const timer = sessionTimer.answer(request);
    if (!timer) return void respond(422, "Session Interval Too Small", [["Min-SE", String(MIN_SESSION_S)]]);
    // Formatting an offer counts as a change of the session, so only where one is sent.
    const offer = method === "INVITE" && body === "" ? (callee.offerAgain?.() ?? callee.offer) : "";
    const agree = ({ uri: own }: { uri: string }): void => {
      const description = answer ?? offer;
      const type: SipHeaders = description === "" ? [] : [["Content-Type", "application/sdp"]];
      if (answer === null && description !== "") offeredIn = cseqOf(request).number;
      respond(200, "OK", [...sessionHeaders(own), ...timer, ...type], description);
      if (answer !== null && !isHangingUp) handlers.onAnswered(body);
    };
    // Without a local address the previous session stays in effect.
    outbound.contact(hop, callee.caller.user).then(agree, () => respond(500, "Server Internal Error"));
  };

  /** UPDATE before the answer: only what a reliable response agreed on can be changed. @source RFC 3311 §5.2 */
  const answerEarlyUpdate = (request: SipRequest, respond: Respond): void => {
    const isAgreed = earlyAnswers.get(tagParameter(firstHeader(request, "From")))?.isReliable ?? false;
    const answer = request.body === "" ? "" : isAgreed ? callee.answerTo(request.body) : null;
    if (answer === null) return void respond(500, "Server Internal Error", [["Retry-After", "1"]]);
    const type: SipHeaders = answer === "" ? [] : [["Content-Type", "application/sdp"]];
    if (answer !== "")
      earlyAnswers.set(tagParameter(firstHeader(request, "From")), { description: request.body, isReliable: true });
    outbound.contact(hop, callee.caller.user).then(
      ({ uri: own }) => respond(200, "OK", [...sessionHeaders(own), ...type], answer),
      () => respond(500, "Server Internal Error"),
    );
  };

  /** Handles a request that leaves the session as it is. */
  const handleOther = (request: SipRequest, respond: Respond): void => {
    switch (request.method) {
      case "CANCEL":
        // The INVITE that it names was answered at once.
        return void respond(200, "OK");
      case "INFO":
        respond(200, "OK");
        if (!isHangingUp) handlers.onInfo?.(firstHeader(request, "Content-Type") ?? "", request.body);
        return;
      case "OPTIONS":
        return void respond(200, "OK", CAPABILITIES);
      case "NOTIFY":
        return void respond(489, "Bad Event");
      default:
        refuseMethod(request, respond);
    }
  };

  const call: SipCall = {
    id: callId,
    hangUp() {
      if (isHangingUp || state === "over") return hungUp;
      isHangingUp = true;
      sessionTimer.stop();
      if (dialog) void sendBye(dialog);
      else if (hasProvisional) cancel();
      // Without any response there is nothing to cancel; a late response is ended on arrival.
      clock.after(BYE_TIMEOUT_MS, () => finish(() => {}), { background: true });
      return hungUp;
    },
    handleRequest(request, respond) {
      if (state === "over" || tagParameter(firstHeader(request, "To")) !== localTag) return false;
      if (refuseExtensions(request, respond)) return true;
      if (!dialog) {
        if (request.method === "BYE" || request.method === "INVITE") return false;
        if (request.method === "UPDATE") answerEarlyUpdate(request, respond);
        else handleOther(request, respond);
        return true;
      }
      if (tagParameter(firstHeader(request, "From")) !== dialog.remoteTag) return false;
      const { number } = cseqOf(request);
      // A CANCEL has the number of its INVITE.
      if (request.method !== "CANCEL") {
        if (number <= dialog.remoteSequence) {
          respond(500, "Out Of Order");
          return true;
        }
        dialog.remoteSequence = number;
      }
      if (request.method === "BYE") {
        respond(200, "OK");
        finish(handlers.onEnded);
      } else if (request.method === "INVITE" || request.method === "UPDATE") answerOffer(request, respond);
      else handleOther(request, respond);
      return true;
    },
    handleAck(request) {
      if (offeredIn !== cseqOf(request).number || tagParameter(firstHeader(request, "To")) !== localTag) return;
      offeredIn = null;
      if (state === "answered" && !isHangingUp && request.body !== "") handlers.onAnswered(request.body);
    },
    handleRetransmittedAnswer(response) {
      const remoteTag = tagParameter(firstHeader(response, "To"));
      if (dialog && remoteTag === dialog.remoteTag) {
        if (ack) outbound.resend(dialog.hop, ack);
      } else if (dialog || state === "over") {
        // Another fork answered, or a failed call was answered late.
        void createDialog(response)
          .then(async (second) => {
            await acknowledge(second, cseqOf(response).number);
            await outbound.request(second.hop, inDialogRequest(second, "BYE", takeSequence()), credentials);
          })
          .catch(() => {});
      }
    },
  };
  void start().catch(failWithError);
  return call;
}

/** Forks whose early answer is kept. */
const MAX_EARLY_ANSWERS = 8;
