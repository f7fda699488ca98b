import type { ExecuteItem } from "./execute.ts";
import type { Exchange } from "./phone-exchange.ts";
import type { PhoneModel } from "./phone-models.ts";
import { answerTo, ERRORS, type ItemAnswer, readPushAnswer } from "./push-answer.ts";

/** What a push came to. */
export type Verdict =
  | { kind: "accepted"; reason?: string }
  /** In use: in a call, or receiving sound already; `sound` says that it was the sound alone that was refused. */
  | { kind: "busy"; sound: boolean }
  /** The push user was refused; why can be said only by who answers the phone's question. */
  | { kind: "unauthorized" }
  | { kind: "failed"; reason: string; retryable: boolean };

/** What was pushed. */
export interface Pushed {
  page: ExecuteItem | null;
  sound: ExecuteItem | null;
}

const BUSY = 1;
const UNREADABLE = "the phone's answer could not be understood";

/** Judges an exchange. Sound counts most: a phone that refuses it has not accepted. @source interfaces.md, Ledger levels */
export function judgePush(exchange: Exchange, pushed: Pushed, model: PhoneModel): Verdict {
  if (exchange.fault) return { kind: "failed", reason: exchange.fault.words, retryable: exchange.fault.retryable };
  const answer = readPushAnswer(exchange.answer);
  if (answer.kind === "items") return judgeItems(answer.items, pushed);
  if (answer.kind === "error") return judgeError(answer.number, pushed);
  if (answer.kind === "silent") {
    return model.kind === "no-rtp" ? { kind: "accepted" } : failed(UNREADABLE);
  }
  if (answer.status === 401) return { kind: "unauthorized" };
  if (answer.status === 404) return failed("the phone takes no pushes (HTTP 404)");
  if (answer.status === 200) return failed(UNREADABLE);
  return failed(`the phone answered with HTTP ${answer.status}`, answer.status >= 500);
}

function judgeItems(items: readonly ItemAnswer[], { page, sound }: Pushed): Verdict {
  const ofPage = page && answerTo(items, page.url);
  const ofSound = sound && answerTo(items, sound.url);
  if ((page && !ofPage && !sound) || (sound && !ofSound)) return failed(UNREADABLE);
  if (ofSound?.status === BUSY) return { kind: "busy", sound: ofPage?.status === 0 };
  if (ofSound && ofSound.status !== 0) return failed(`the phone refused the sound: ${words(ofSound)}`);
  if (ofPage && ofPage.status !== 0) {
    // Priority 2 asks for an idle phone, and its refusal is how a phone says that it is not.
    if (page?.priority === 2) return { kind: "busy", sound: false };
    const reason = `the phone refused the text: ${words(ofPage)}`;
    return sound ? { kind: "accepted", reason } : failed(reason);
  }
  return { kind: "accepted" };
}

function judgeError(number: number, { sound }: Pushed): Verdict {
  if (number === ERRORS.authentication) return { kind: "unauthorized" };
  // The same number says "can't be read" and "receives sound already".
  if (number === ERRORS.parseOrBusy && sound) return { kind: "busy", sound: false };
  if (number === ERRORS.parseOrBusy) return failed("the phone could not read the push (error 1)");
  if (number === ERRORS.framing) return failed("the phone could not frame its answer (error 2)");
  if (number === ERRORS.internal) return failed("the phone had an internal fault (error 3)", true);
  return failed(`the phone refused the push with error ${number}`);
}

function words({ status, data }: ItemAnswer): string {
  return data === "" ? `status ${status}` : `${data.slice(0, 100)} (status ${status})`;
}

function failed(reason: string, retryable = false): Verdict {
  return { kind: "failed", reason, retryable };
}
