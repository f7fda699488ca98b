import type { PhoneExchange } from "./phone-client.ts";
import type { PhoneModel } from "./phone-models.ts";
import type { ExecuteItem } from "./push-request.ts";
import { type ItemResponse, PUSH_ERRORS, parsePushResponse, responseForUrl } from "./push-response.ts";

/** What a push came to. */
export type PushResult =
  | { kind: "accepted"; reason?: string }
  /** In use: in a call, or receiving sound already; `sound` says that it was the sound alone that was refused. */
  | { kind: "busy"; sound: boolean }
  /** The push user was refused; why can be said only by who answers the phone's question. */
  | { kind: "unauthorized" }
  | { kind: "failed"; reason: string; retryable: boolean };

/** What was pushed. */
export interface PushItems {
  page: ExecuteItem | null;
  sound: ExecuteItem | null;
}

const BUSY = 1;
const UNREADABLE_RESPONSE = "the phone's answer could not be understood";

/** Judges an exchange. Sound counts most: a phone that refuses it has not accepted. @source interfaces.md, Ledger levels */
export function interpretPush(exchange: PhoneExchange, pushed: PushItems, model: PhoneModel): PushResult {
  if (exchange.fault) return { kind: "failed", reason: exchange.fault.message, retryable: exchange.fault.retryable };
  const answer = parsePushResponse(exchange.answer);
  if (answer.kind === "items") return interpretItems(answer.items, pushed);
  if (answer.kind === "error") return interpretError(answer.number, pushed);
  if (answer.kind === "silent") {
    return model.kind === "no-rtp" ? { kind: "accepted" } : failedResult(UNREADABLE_RESPONSE);
  }
  if (answer.status === 401) return { kind: "unauthorized" };
  if (answer.status === 404) return failedResult("the phone takes no pushes (HTTP 404)");
  if (answer.status === 200) return failedResult(UNREADABLE_RESPONSE);
  return failedResult(`the phone answered with HTTP ${answer.status}`, answer.status >= 500);
}

function interpretItems(items: readonly ItemResponse[], { page, sound }: PushItems): PushResult {
  const ofPage = page && responseForUrl(items, page.url);
  const ofSound = sound && responseForUrl(items, sound.url);
  if ((page && !ofPage && !sound) || (sound && !ofSound)) return failedResult(UNREADABLE_RESPONSE);
  if (ofSound?.status === BUSY) return { kind: "busy", sound: ofPage?.status === 0 };
  if (ofSound && ofSound.status !== 0) return failedResult(`the phone refused the sound: ${itemMessage(ofSound)}`);
  if (ofPage && ofPage.status !== 0) {
    // Priority 2 asks for an idle phone, and its refusal is how a phone says that it is not.
    if (page?.priority === 2) return { kind: "busy", sound: false };
    const reason = `the phone refused the text: ${itemMessage(ofPage)}`;
    return sound ? { kind: "accepted", reason } : failedResult(reason);
  }
  return { kind: "accepted" };
}

function interpretError(number: number, { sound }: PushItems): PushResult {
  if (number === PUSH_ERRORS.authentication) return { kind: "unauthorized" };
  // The same number says "can't be read" and "receives sound already".
  if (number === PUSH_ERRORS.parseOrBusy && sound) return { kind: "busy", sound: false };
  if (number === PUSH_ERRORS.parseOrBusy) return failedResult("the phone could not read the push (error 1)");
  if (number === PUSH_ERRORS.framing) return failedResult("the phone could not frame its answer (error 2)");
  if (number === PUSH_ERRORS.internal) return failedResult("the phone had an internal fault (error 3)", true);
  return failedResult(`the phone refused the push with error ${number}`);
}

function itemMessage({ status, data }: ItemResponse): string {
  return data === "" ? `status ${status}` : `${data.slice(0, 100)} (status ${status})`;
}

function failedResult(reason: string, retryable = false): PushResult {
  return { kind: "failed", reason, retryable };
}
