import type { Clock, Timer } from "#plugin-api";
import { createProofs } from "./challenges.ts";
import { type Dialog, dialogOf, tagOf } from "./dialog.ts";
import type { Credentials } from "./digest.ts";
import type { Hop } from "./hop.ts";
import { first, type Headers, type SipRequest, type SipResponse } from "./message.ts";
import type { Outbound } from "./outbound.ts";
import type { Respond } from "./server-transactions.ts";
import { type SipUri, writeUri } from "./uri.ts";

/** Whom to call, and as whom. */
export interface Callee {
  uri: SipUri;
  hop: Hop;
  /** For whoever asks for name and password on the way; null for none. */
  credentials: Credentials | null;
  /** Own user part and the name that displays show; `address` is told as the caller's where it is not the appliance's. */
  caller: { user: string; name: string; address?: string };
  /** Headers for the device, such as those that make it answer by itself. */
  headers: Headers;
  /** Description of the session that is offered. */
  offer: string;
  /** The same in answer to what the other side wants to change. */
  answerTo(description: string): string;
}

/** Why a call did not come about: a status of SIP, or no answer at all. */
export interface CallFailure {
  /** Null where nobody answered. */
  status: number | null;
  words: string;
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
export interface Call {
  readonly id: string;
  /** Ends it, however far it has come; resolves when the other side has said so, or can't. No handler is called any more. */
  hangUp(): Promise<void>;
  /** Takes a request within the dialog; false when it is not of this call. */
  take(request: SipRequest, respond: Respond): boolean;
  /** Takes a success that was repeated, or one of a second device. */
  takeAgain(response: SipResponse): void;
}

/** What calls need. */
export interface CallNeeds {
  clock: Clock;
  outbound: Outbound;
  id(): string;
  /** Nothing of it follows any more. */
  onOver(call: Call): void;
}

/** A device that is there says within this time that it has the call; one that doesn't is given up. own choice */
const SILENCE_MS = 6_000;
/** How long a goodbye is waited for. own choice */
const GOODBYE_MS = 2_000;
/** A call that is over is remembered so long, for what is still on its way. */
const AFTERWARDS_MS = 32_000;

/** Calls somebody at once. */
export function placeCall(callee: Callee, handlers: CallHandlers, needs: CallNeeds): Call {
  const { clock, outbound } = needs;
  const callId = needs.id();
  const localTag = needs.id();
  const uri = writeUri(callee.uri);
  const proofs = createProofs(callee.credentials, needs.id);
  let sequence = 1;
  let local = "";
  let dialog: Dialog | null = null;
  let state: "calling" | "answered" | "over" = "calling";
  let hasProvisional = false;
  let invite: SipRequest | null = null;
  let ack: SipRequest | null = null;
  let isLeaving = false;
  let isCancelled = false;
  let onGone = (): void => {};
  const gone = new Promise<void>((resolve) => {
    onGone = resolve;
  });
  let silence: Timer | null = null;

  /** Nobody has given it up yet. */
  const isWanted = (): boolean => state === "calling" && !isLeaving;
  const over = (tell: () => void): void => {
    if (state === "over") return;
    state = "over";
    silence?.cancel();
    onGone();
    clock.after(AFTERWARDS_MS, () => needs.onOver(call), { background: true });
    if (!isLeaving) tell();
  };
  const fail = (failure: CallFailure): void => over(() => handlers.onFailed(failure));

  const headersOf = (method: string): Headers => [
    ["From", local],
    ["To", `<${uri}>`],
    ["Call-ID", callId],
    ["CSeq", `${sequence} ${method}`],
  ];

  const start = async (): Promise<void> => {
    const contact = await outbound.contact(callee.hop, callee.caller.user);
    local = `${JSON.stringify(callee.caller.name)} <${callee.caller.address ?? contact.uri}>;tag=${localTag}`;
    const headers: Headers = [
      ...headersOf("INVITE"),
      ["Contact", `<${contact.uri}>`],
      ["Allow", ALLOWED],
      ...callee.headers,
      ...proofs.headers,
      ["Content-Type", "application/sdp"],
    ];
    if (isLeaving) return over(() => {});
    invite = await outbound.send(
      callee.hop,
      { method: "INVITE", uri, headers, body: callee.offer },
      {
        onProvisional({ status }) {
          hasProvisional = true;
          silence?.cancel();
          if (!isWanted()) cancel();
          else handlers.onRinging?.(status);
        },
        onFinal: (response) => void final(response).catch(lost),
        onFailed: (words) => fail({ status: null, words }),
      },
    );
    if (hasProvisional) return;
    silence?.cancel();
    silence = clock.after(SILENCE_MS, () => fail({ status: null, words: "it does not answer" }));
  };

  const final = async (response: SipResponse): Promise<void> => {
    if (response.status < 300) return answered(response);
    if (isWanted() && proofs.add(response, { method: "INVITE", uri })) {
      sequence++;
      hasProvisional = false;
      return start();
    }
    fail({ status: response.status, words: response.reason });
  };

  const lost = (error: Error): void => fail({ status: null, words: error.message });

  const answered = async (response: SipResponse): Promise<void> => {
    const made = await dialogOf(response, { callId, localTag, local, sequence, uri }, callee.hop).catch(lost);
    if (!made) return;
    dialog = made;
    ack = await acknowledge(made);
    silence?.cancel();
    // It was given up, or called off while it was answered.
    if (!isWanted()) return sayGoodbye(made);
    state = "answered";
    handlers.onAnswered(response.body);
  };

  /** What was proven goes with it, for it can't be asked for. @source RFC 3261 §22.1 */
  const acknowledge = (made: Dialog): Promise<SipRequest> =>
    outbound.sendOnce(made.hop, within(made, "ACK", sequence, proofs.headers));

  const within = (made: Dialog, method: string, number: number, more: Headers = []) => ({
    method,
    uri: made.target,
    headers: [
      ...made.routes.map((route) => ["Route", route] as const),
      ["From", made.local],
      ["To", made.remote],
      ["Call-ID", callId],
      ["CSeq", `${number} ${method}`],
      ...more,
    ] satisfies Headers,
    body: "",
  });

  const sayGoodbye = async (made: Dialog): Promise<void> => {
    const leave = (): void => over(() => {});
    clock.after(GOODBYE_MS, leave, { background: true });
    const goodbye = within(made, "BYE", ++made.localSequence);
    await outbound
      .ask(made.hop, goodbye, callee.credentials)
      .catch(() => {})
      .then(leave);
  };

  const cancel = (): void => {
    // A device may say many times that it rings.
    if (!invite || isCancelled) return;
    isCancelled = true;
    // @source RFC 3261 §9.1: the same branch and number as what is called off
    const headers: Headers = [["Via", first(invite, "Via") ?? ""], ...headersOf("CANCEL")];
    outbound.sendAs(
      callee.hop,
      { kind: "request", method: "CANCEL", uri, headers, body: "" },
      {
        onFinal: () => {},
        onFailed: () => {},
      },
    );
  };

  const describe = (request: SipRequest, respond: Respond): void => {
    if (request.body !== "") handlers.onAnswered(request.body);
    const agree = ({ uri: own }: { uri: string }): void => {
      const agreed = [
        ["Contact", `<${own}>`],
        ["Allow", ALLOWED],
        ["Content-Type", "application/sdp"],
      ] as const;
      respond(200, "OK", agreed, request.body === "" ? callee.offer : callee.answerTo(request.body));
    };
    // What was agreed before holds on where there is no way for now.
    outbound.contact(callee.hop, callee.caller.user).then(agree, () => respond(500, "Server Internal Error"));
  };

  const call: Call = {
    id: callId,
    hangUp() {
      if (isLeaving || state === "over") return gone;
      isLeaving = true;
      if (dialog) void sayGoodbye(dialog);
      else if (hasProvisional) cancel();
      // Without any answer there is nothing to be called off; what comes later is ended when it comes.
      clock.after(GOODBYE_MS, () => over(() => {}), { background: true });
      return gone;
    },
    take(request, respond) {
      const isOurs =
        dialog && tagOf(first(request, "To")) === localTag && tagOf(first(request, "From")) === dialog.remoteTag;
      if (!dialog || !isOurs || state === "over") return false;
      // What is no matter of the call is answered by whoever asks, however often it comes.
      if (!WITHIN.includes(request.method)) return false;
      const number = Number((first(request, "CSeq") ?? "0").split(" ", 1)[0]);
      if (number <= dialog.remoteSequence) {
        respond(500, "Out Of Order");
        return true;
      }
      dialog.remoteSequence = number;
      switch (request.method) {
        case "BYE":
          respond(200, "OK");
          over(handlers.onEnded);
          break;
        case "INFO":
          respond(200, "OK");
          handlers.onInfo?.(first(request, "Content-Type") ?? "", request.body);
          break;
        case "INVITE":
          describe(request, respond);
          break;
        case "UPDATE":
          if (request.body === "") respond(200, "OK");
          else describe(request, respond);
          break;
      }
      return true;
    },
    takeAgain(response) {
      const remoteTag = tagOf(first(response, "To"));
      if (dialog && remoteTag === dialog.remoteTag) {
        if (ack) outbound.repeat(dialog.hop, ack);
      } else if (dialog || state === "over") {
        // A second device has answered, or one that was given up.
        void dialogOf(response, { callId, localTag, local, sequence, uri }, callee.hop)
          .then(async (second) => {
            await acknowledge(second);
            await outbound.ask(second.hop, within(second, "BYE", ++second.localSequence), callee.credentials);
          })
          .catch(() => {});
      }
    },
  };
  void start().catch(lost);
  return call;
}

/** What a call itself takes. */
const WITHIN: readonly string[] = ["BYE", "INFO", "INVITE", "UPDATE"];

/** What is understood within calls. */
export const ALLOWED = "INVITE, ACK, CANCEL, BYE, OPTIONS, INFO, UPDATE, REGISTER";
