import type { Clock, Timer } from "#plugin-api";
import { createSipDialog, type SipDialog, tagParameter } from "./dialog.ts";
import type { SipCredentials } from "./digest.ts";
import { createDigestSession } from "./digest-session.ts";
import type { Hop } from "./hop.ts";
import type { RequestSender } from "./request-sender.ts";
import type { Respond } from "./server-transactions.ts";
import { firstHeader, type SipHeaders, type SipRequest, type SipResponse } from "./sip-message.ts";
import { formatSipUri, type SipUri } from "./sip-uri.ts";

/** Parameters of an outgoing call. */
export interface CallParameters {
  uri: SipUri;
  hop: Hop;
  /** Credentials for servers on the path; null for none. */
  credentials: SipCredentials | null;
  /** Caller user and display name; `address` replaces the appliance's own address. */
  caller: { user: string; name: string; address?: string };
  /** Additional headers, such as those for auto-answer. */
  headers: SipHeaders;
  /** SDP offer. */
  offer: string;
  /** SDP answer to a re-offer. */
  answerTo(description: string): string;
}

/** Failure of a call: a SIP status, or no response. */
export interface CallFailure {
  /** Null without a response. */
  status: number | null;
  reason: string;
}

/** Callbacks of a call; `onFailed` or `onEnded` is called once, as the last one. */
export interface CallHandlers {
  /** Provisional response of the device (180 and above) or of a proxy; may be called several times. */
  onRinging?(status: number): void;
  /** SDP of the remote side, at the answer and on each change. */
  onAnswered(description: string): void;
  onFailed(failure: CallFailure): void;
  /** The remote side hung up. */
  onEnded(): void;
  /** An INFO within the call, such as a pressed key. */
  onInfo?(contentType: string, body: string): void;
}

/** An outgoing call. */
export interface SipCall {
  readonly id: string;
  /** Cancels or ends the call; resolves when the remote side confirmed, or on timeout. No callback follows. */
  hangUp(): Promise<void>;
  /** Handles an in-dialog request; false if it does not belong to this call. */
  handleRequest(request: SipRequest, respond: Respond): boolean;
  /** Handles a retransmitted 2xx, or one from another fork. */
  handleRetransmittedAnswer(response: SipResponse): void;
}

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

/** Places a call. */
export function placeCall(callee: CallParameters, handlers: CallHandlers, deps: SipCallDeps): SipCall {
  const { clock, outbound } = deps;
  const callId = deps.newId();
  const localTag = deps.newId();
  const uri = formatSipUri(callee.uri);
  const authentication = createDigestSession(callee.credentials, deps.newId);
  let sequence = 1;
  let local = "";
  let dialog: SipDialog | null = null;
  let state: "calling" | "answered" | "over" = "calling";
  let hasProvisional = false;
  let invite: SipRequest | null = null;
  let ack: SipRequest | null = null;
  let isHangingUp = false;
  let isCancelled = false;
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
    onGone();
    clock.after(LINGER_MS, () => deps.onOver(call), { background: true });
    if (!isHangingUp) notify();
  };
  const fail = (failure: CallFailure): void => finish(() => handlers.onFailed(failure));

  const headersOf = (method: string): SipHeaders => [
    ["From", local],
    ["To", `<${uri}>`],
    ["Call-ID", callId],
    ["CSeq", `${sequence} ${method}`],
  ];

  const start = async (): Promise<void> => {
    const contact = await outbound.contact(callee.hop, callee.caller.user);
    local = `${JSON.stringify(callee.caller.name)} <${callee.caller.address ?? contact.uri}>;tag=${localTag}`;
    const headers: SipHeaders = [
      ...headersOf("INVITE"),
      ["Contact", `<${contact.uri}>`],
      ["Allow", ALLOWED_METHODS],
      ...callee.headers,
      ...authentication.headers,
      ["Content-Type", "application/sdp"],
    ];
    if (isHangingUp) return finish(() => {});
    invite = await outbound.send(
      callee.hop,
      { method: "INVITE", uri, headers, body: callee.offer },
      {
        onProvisional({ status }) {
          hasProvisional = true;
          provisionalTimer?.cancel();
          if (!isActive()) cancel();
          else handlers.onRinging?.(status);
        },
        onFinal: (response) => void handleFinal(response).catch(failWithError),
        onFailed: (reason) => fail({ status: null, reason }),
      },
    );
    if (hasProvisional) return;
    provisionalTimer?.cancel();
    provisionalTimer = clock.after(PROVISIONAL_TIMEOUT_MS, () => fail({ status: null, reason: "no response" }));
  };

  const handleFinal = async (response: SipResponse): Promise<void> => {
    if (response.status < 300) return handleAnswer(response);
    if (isActive() && authentication.addChallenge(response, { method: "INVITE", uri })) {
      sequence++;
      hasProvisional = false;
      return start();
    }
    fail({ status: response.status, reason: response.reason });
  };

  const failWithError = (error: Error): void => fail({ status: null, reason: error.message });

  const handleAnswer = async (response: SipResponse): Promise<void> => {
    const created = await createSipDialog(response, { callId, localTag, local, sequence, uri }, callee.hop).catch(
      failWithError,
    );
    if (!created) return;
    dialog = created;
    ack = await acknowledge(created);
    provisionalTimer?.cancel();
    // Failed or cancelled while it was being answered.
    if (!isActive()) return sendBye(created);
    state = "answered";
    handlers.onAnswered(response.body);
  };

  /** The ACK repeats the credentials, because it cannot be challenged. @source RFC 3261 §22.1 */
  const acknowledge = (created: SipDialog): Promise<SipRequest> =>
    outbound.sendWithoutTransaction(created.hop, inDialogRequest(created, "ACK", sequence, authentication.headers));

  const inDialogRequest = (created: SipDialog, method: string, number: number, more: SipHeaders = []) => ({
    method,
    uri: created.target,
    headers: [
      ...created.routes.map((route) => ["Route", route] as const),
      ["From", created.local],
      ["To", created.remote],
      ["Call-ID", callId],
      ["CSeq", `${number} ${method}`],
      ...more,
    ] satisfies SipHeaders,
    body: "",
  });

  const sendBye = async (created: SipDialog): Promise<void> => {
    const leave = (): void => finish(() => {});
    clock.after(BYE_TIMEOUT_MS, leave, { background: true });
    const goodbye = inDialogRequest(created, "BYE", ++created.localSequence);
    await outbound
      .request(created.hop, goodbye, callee.credentials)
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
      callee.hop,
      { kind: "request", method: "CANCEL", uri, headers, body: "" },
      {
        onFinal: () => {},
        onFailed: () => {},
      },
    );
  };

  const answerOffer = (request: SipRequest, respond: Respond): void => {
    if (request.body !== "") handlers.onAnswered(request.body);
    const agree = ({ uri: own }: { uri: string }): void => {
      const agreed = [
        ["Contact", `<${own}>`],
        ["Allow", ALLOWED_METHODS],
        ["Content-Type", "application/sdp"],
      ] as const;
      respond(200, "OK", agreed, request.body === "" ? callee.offer : callee.answerTo(request.body));
    };
    // Without a local address the previous session stays in effect.
    outbound.contact(callee.hop, callee.caller.user).then(agree, () => respond(500, "Server Internal Error"));
  };

  const call: SipCall = {
    id: callId,
    hangUp() {
      if (isHangingUp || state === "over") return hungUp;
      isHangingUp = true;
      if (dialog) void sendBye(dialog);
      else if (hasProvisional) cancel();
      // Without any response there is nothing to cancel; a late response is ended on arrival.
      clock.after(BYE_TIMEOUT_MS, () => finish(() => {}), { background: true });
      return hungUp;
    },
    handleRequest(request, respond) {
      const isOurs =
        dialog &&
        tagParameter(firstHeader(request, "To")) === localTag &&
        tagParameter(firstHeader(request, "From")) === dialog.remoteTag;
      if (!dialog || !isOurs || state === "over") return false;
      // Other methods are handled outside the call.
      if (!IN_DIALOG_METHODS.includes(request.method)) return false;
      const number = Number((firstHeader(request, "CSeq") ?? "0").split(" ", 1)[0]);
      if (number <= dialog.remoteSequence) {
        respond(500, "Out Of Order");
        return true;
      }
      dialog.remoteSequence = number;
      switch (request.method) {
        case "BYE":
          respond(200, "OK");
          finish(handlers.onEnded);
          break;
        case "INFO":
          respond(200, "OK");
          handlers.onInfo?.(firstHeader(request, "Content-Type") ?? "", request.body);
          break;
        case "INVITE":
          answerOffer(request, respond);
          break;
        case "UPDATE":
          if (request.body === "") respond(200, "OK");
          else answerOffer(request, respond);
          break;
      }
      return true;
    },
    handleRetransmittedAnswer(response) {
      const remoteTag = tagParameter(firstHeader(response, "To"));
      if (dialog && remoteTag === dialog.remoteTag) {
        if (ack) outbound.resend(dialog.hop, ack);
      } else if (dialog || state === "over") {
        // Another fork answered, or a failed call was answered late.
        void createSipDialog(response, { callId, localTag, local, sequence, uri }, callee.hop)
          .then(async (second) => {
            await acknowledge(second);
            await outbound.request(
              second.hop,
              inDialogRequest(second, "BYE", ++second.localSequence),
              callee.credentials,
            );
          })
          .catch(() => {});
      }
    },
  };
  void start().catch(failWithError);
  return call;
}

/** Methods handled within a call. */
const IN_DIALOG_METHODS: readonly string[] = ["BYE", "INFO", "INVITE", "UPDATE"];

/** Value of the Allow header. */
export const ALLOWED_METHODS = "INVITE, ACK, CANCEL, BYE, OPTIONS, INFO, UPDATE, REGISTER";
