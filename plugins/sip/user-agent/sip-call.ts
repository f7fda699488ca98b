import type { SipCredentials } from "./digest.ts";
import type { Hop } from "./hop.ts";
import type { Respond } from "./server-transactions.ts";
import type { SipHeaders, SipRequest, SipResponse } from "./sip-message.ts";
import type { SipUri } from "./sip-uri.ts";

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
  /** SDP offer within the call; the first one if absent. */
  offerAgain?(): string;
  /** SDP answer to a re-offer; null refuses it, and the session stays as it is. */
  answerTo(description: string): string | null;
  /** Resolves the target of a redirection; rejects if it is not allowed. Without it, redirections are not followed. */
  redirect?(uri: SipUri): Promise<Hop>;
}

/** Failure of a call: a SIP status, or no response. */
export interface CallFailure {
  /** Null without a response. */
  status: number | null;
  reason: string;
  /** When the other side wants to be called again at the earliest. */
  retryAfterMs?: number;
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
  /** Handles the ACK of a 2xx, which may have the answer to our offer. */
  handleAck(request: SipRequest): void;
  /** Handles a retransmitted 2xx, or one from another fork. */
  handleRetransmittedAnswer(response: SipResponse): void;
}
