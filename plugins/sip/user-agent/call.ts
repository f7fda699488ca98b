import type { Clock, Timer } from "#plugin-api";
import { createSipDialog, type SipDialog, tagParameter } from "./dialog.ts";
import type { SipCredentials } from "./digest.ts";
import { createDigestSession } from "./digest-session.ts";
import type { Hop } from "./hop.ts";
import type { RequestSender } from "./request-sender.ts";
import type { Respond } from "./server-transactions.ts";
import { firstHeader, type SipHeaders, type SipRequest, type SipResponse } from "./sip-message.ts";
import { formatSipUri, type SipUri } from "./sip-uri.ts";

/** Whom to call, and as whom. */
export interface CallParameters {
  uri: SipUri;
  hop: Hop;
  /** For whoever asks for name and password on the way; null for none. */
  credentials: SipCredentials | null;
  /** Own user part and the name that displays show; `address` is told as the caller's where it is not the appliance's. */
  caller: { user: string; name: string; address?: string };
  /** Headers for the device, such as those that make it answer by itself. */
  headers: SipHeaders;
  /** Description of the session that is offered. */
  offer: string;
  /** The same in answer to what the other side wants to change. */
  answerTo(description: string): string;
}

/** Why a call did not come about: a status of SIP, or no answer at all. */
export interface CallFailure {
  /** Null where nobody answered. */
  status: number | null;
  reason: string;
}

/** What the maker of a call is told; `onFailed` or `onEnded` comes once and last. */
export interface CallHandlers {
  /** The device has the call (180 and above), or whoever is on the way to it; may be told several times. */
  onRinging?(status: number): void;
  /** The other side's description of the session, at the answer and whenever it changes. */
  onAnswered(description: string): void;
  onFailed(failure: CallFailure): void;
  /** The other side has ended the call. */
  onEnded(): void;
  /** A message within the call, such as a key that was pressed. */
  onInfo?(contentType: string, body: string): void;
}

/** A call of ours. */
export interface SipCall {
  readonly id: string;
  /** Ends it, however far it has come; resolves when the other side has said so, or can't. No handler is called any more. */
  hangUp(): Promise<void>;
  /** Takes a request within the dialog; false when it is not of this call. */
  handleRequest(request: SipRequest, respond: Respond): boolean;
  /** Takes a success that was repeated, or one of a second device. */
  handleRetransmittedAnswer(response: SipResponse): void;
}

/** What calls need. */
export interface SipCallDeps {
  clock: Clock;
  outbound: RequestSender;
  newId(): string;
  /** Nothing of it follows any more. */
  onOver(call: SipCall): void;
}

/** A device that is there says within this time that it has the call; one that doesn't is given up. own choice */
const PROVISIONAL_TIMEOUT_MS = 6_000;
/** How long a goodbye is waited for. own choice */
const BYE_TIMEOUT_MS = 2_000;
/** A call that is over is remembered so long, for what is still on its way. */
const LINGER_MS = 32_000;

/** Calls somebody at once. */
export function placeCall(callee: CallParameters, handlers: CallHandlers, needs: SipCallDeps): SipCall {
  const { clock, outbound } = needs;
  const callId = needs.newId();
  const localTag = needs.newId();
  const uri = formatSipUri(callee.uri);
  const authentication = createDigestSession(callee.credentials, needs.newId);
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
  let silence: Timer | null = null;

  /** Nobody has given it up yet. */
  const isActive = (): boolean => state === "calling" && !isHangingUp;
  const finish = (tell: () => void): void => {
    if (state === "over") return;
    state = "over";
    silence?.cancel();
    onGone();
    clock.after(LINGER_MS, () => needs.onOver(call), { background: true });
    if (!isHangingUp) tell();
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
          silence?.cancel();
          if (!isActive()) cancel();
          else handlers.onRinging?.(status);
        },
        onFinal: (response) => void handleFinal(response).catch(failWithError),
        onFailed: (words) => fail({ status: null, reason: words }),
      },
    );
    if (hasProvisional) return;
    silence?.cancel();
    silence = clock.after(PROVISIONAL_TIMEOUT_MS, () => fail({ status: null, reason: "it does not answer" }));
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
    const made = await createSipDialog(response, { callId, localTag, local, sequence, uri }, callee.hop).catch(
      failWithError,
    );
    if (!made) return;
    dialog = made;
    ack = await acknowledge(made);
    silence?.cancel();
    // It was given up, or called off while it was answered.
    if (!isActive()) return sendBye(made);
    state = "answered";
    handlers.onAnswered(response.body);
  };

  /** What was proven goes with it, for it can't be asked for. @source RFC 3261 §22.1 */
  const acknowledge = (made: SipDialog): Promise<SipRequest> =>
    outbound.sendWithoutTransaction(made.hop, inDialogRequest(made, "ACK", sequence, authentication.headers));

  const inDialogRequest = (made: SipDialog, method: string, number: number, more: SipHeaders = []) => ({
    method,
    uri: made.target,
    headers: [
      ...made.routes.map((route) => ["Route", route] as const),
      ["From", made.local],
      ["To", made.remote],
      ["Call-ID", callId],
      ["CSeq", `${number} ${method}`],
      ...more,
    ] satisfies SipHeaders,
    body: "",
  });

  const sendBye = async (made: SipDialog): Promise<void> => {
    const leave = (): void => finish(() => {});
    clock.after(BYE_TIMEOUT_MS, leave, { background: true });
    const goodbye = inDialogRequest(made, "BYE", ++made.localSequence);
    await outbound
      .request(made.hop, goodbye, callee.credentials)
      .catch(() => {})
      .then(leave);
  };

  const cancel = (): void => {
    // A device may say many times that it rings.
    if (!invite || isCancelled) return;
    isCancelled = true;
    // @source RFC 3261 §9.1: the same branch and number as what is called off
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
    // What was agreed before holds on where there is no way for now.
    outbound.contact(callee.hop, callee.caller.user).then(agree, () => respond(500, "Server Internal Error"));
  };

  const call: SipCall = {
    id: callId,
    hangUp() {
      if (isHangingUp || state === "over") return hungUp;
      isHangingUp = true;
      if (dialog) void sendBye(dialog);
      else if (hasProvisional) cancel();
      // Without any answer there is nothing to be called off; what comes later is ended when it comes.
      clock.after(BYE_TIMEOUT_MS, () => finish(() => {}), { background: true });
      return hungUp;
    },
    handleRequest(request, respond) {
      const isOurs =
        dialog &&
        tagParameter(firstHeader(request, "To")) === localTag &&
        tagParameter(firstHeader(request, "From")) === dialog.remoteTag;
      if (!dialog || !isOurs || state === "over") return false;
      // What is no matter of the call is answered by whoever asks, however often it comes.
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
        // A second device has answered, or one that was given up.
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

/** What a call itself takes. */
const IN_DIALOG_METHODS: readonly string[] = ["BYE", "INFO", "INVITE", "UPDATE"];

/** What is understood within calls. */
export const ALLOWED_METHODS = "INVITE, ACK, CANCEL, BYE, OPTIONS, INFO, UPDATE, REGISTER";
