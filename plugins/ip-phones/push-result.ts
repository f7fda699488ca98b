import type { PhoneExchange } from "./phone-client.ts";
import type { PhoneModel } from "./phone-models.ts";
import type { ExecuteItem } from "./push-request.ts";
import { type ItemResponse, PUSH_ERRORS, parsePushResponse, responseForUrl } from "./push-response.ts";
import { sentence } from "./sentences.ts";

/** Result of a push. */
export type PushResult =
  | { kind: "accepted"; reason?: string }
  /** In a call, or receiving another stream; `sound`: only the audio was refused. */
  | { kind: "busy"; sound: boolean }
  /** The push user was refused; the authentication callback knows why. */
  | { kind: "unauthorized" }
  | { kind: "failed"; reason: string; retryable: boolean; noNetwork?: boolean };

/** Items of a push. */
export interface PushItems {
  page: ExecuteItem | null;
  sound: ExecuteItem | null;
}

const BUSY = 1;
const UNREADABLE_RESPONSE = sentence("invalid-response");

/**
 * Interprets an exchange. Audio counts most: a phone that refuses it has not accepted.
 * @source docs/decisions/0020-delivery-states.md
 */
export function interpretPush(exchange: PhoneExchange, pushed: PushItems, model: PhoneModel): PushResult {
  if (exchange.error) {
    const { message: reason, ...more } = exchange.error;
    return { kind: "failed", reason, ...more };
  }
  const answer = parsePushResponse(exchange.answer);
  if (answer.kind === "items") return interpretItems(answer.items, pushed);
  if (answer.kind === "error") return interpretError(answer.number, pushed);
  if (answer.kind === "silent") {
    return model.kind === "no-rtp" ? { kind: "accepted" } : failedResult(UNREADABLE_RESPONSE);
  }
  if (answer.status === 401) return { kind: "unauthorized" };
  if (answer.status === 404) return failedResult(sentence("not-supported"));
  if (answer.status === 200) return failedResult(UNREADABLE_RESPONSE);
  return failedResult(sentence("http-status", { status: answer.status }), answer.status >= 500);
}

function interpretItems(items: readonly ItemResponse[], { page, sound }: PushItems): PushResult {
  const ofPage = page && responseForUrl(items, page.url);
  const ofSound = sound && responseForUrl(items, sound.url);
  if ((page && !ofPage && !sound) || (sound && !ofSound)) return failedResult(UNREADABLE_RESPONSE);
  if (ofSound?.status === BUSY) return { kind: "busy", sound: ofPage?.status === 0 };
  if (ofSound && ofSound.status !== 0) return failedResult(sentence("audio-refused", { detail: itemMessage(ofSound) }));
  if (ofPage && ofPage.status !== 0) {
    // With priority 2, refusal means that the phone is not idle.
    if (page?.priority === 2) return { kind: "busy", sound: false };
    const reason = sentence("text-refused", { detail: itemMessage(ofPage) });
    return sound ? { kind: "accepted", reason } : failedResult(reason);
  }
  return { kind: "accepted" };
}

function interpretError(number: number, { sound }: PushItems): PushResult {
  if (number === PUSH_ERRORS.authentication) return { kind: "unauthorized" };
  // Error 1 means either unreadable or already receiving a stream.
  if (number === PUSH_ERRORS.parseOrBusy && sound) return { kind: "busy", sound: false };
  if (number === PUSH_ERRORS.parseOrBusy) return failedResult(sentence("push-parse"));
  if (number === PUSH_ERRORS.framing) return failedResult(sentence("push-framing"));
  if (number === PUSH_ERRORS.internal) return failedResult(sentence("push-internal"), true);
  return failedResult(sentence("push-error", { number }));
}

function itemMessage({ status, data }: ItemResponse): string {
  return data === "" ? `status ${status}` : `${data.slice(0, 100)} (status ${status})`;
}

function failedResult(reason: string, retryable = false): PushResult {
  return { kind: "failed", reason, retryable };
}
