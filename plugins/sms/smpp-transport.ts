import type { SendResult } from "#plugin-api";
import { createReceiptTracker, isReceiptText, parseDeliveryReceipt } from "./delivery-receipts.ts";
import { createInboundParts } from "./inbound-parts.ts";
import { type LongMessageMode, submissionsFor } from "./long-messages.ts";
import { createSendPacing } from "./send-pacing.ts";
import { sentence } from "./sentences.ts";
import { type AddressRules, addressFields } from "./smpp-addresses.ts";
import {
  type DeliveredMessage,
  openSmppConnection,
  type SmppConnection,
  type SmppConnectionDeps,
  type SmppLogin,
  type SubmitResult,
  smppStatusName,
} from "./smpp-connection.ts";
import type { SmsTransport, SmsTransportDeps } from "./sms-transport.ts";

/** Settings of the SMPP provider. */
export interface SmppTransportDeps
  extends SmsTransportDeps,
    SmppLogin,
    Pick<SmppConnectionDeps, "host" | "port" | "tls" | "certificateAuthority">,
    Omit<AddressRules, "sender"> {
  receipts: boolean;
  mostParts: number;
  longTexts: LongMessageMode;
  /** Several messages have this provider id but for its spelling; the receipt is ignored. */
  onAmbiguousReceipt(id: string): void;
}

const RECONNECT_MS = 5_000;
const ENQUIRE_EVERY_MS = 30_000;
const OK = 0;
/** ESME_RX_T_APPN: temporary error of the receiver. @source SMPP 3.4 §5.1.3 */
const TEMPORARY_APPLICATION_ERROR = 0x64;
/** ESME_RMSGQFUL and ESME_RTHROTTLED: sent too fast. @source SMPP 3.4 §5.1.3 */
const THROTTLED: ReadonlySet<number> = new Set([0x14, 0x58]);
/** ESME_RSYSERR and temporary errors of receivers. @source SMPP 3.4 §5.1.3 */
const TEMPORARY_ERRORS: ReadonlySet<number> = new Set([0x08, TEMPORARY_APPLICATION_ERROR]);
/** The first part of a long message was sent, so the others are sent that often before the whole is repeated. */
const PART_ATTEMPTS = 6;

/** Bits 5 to 2 of esm_class; 0 is a text. @source SMPP 3.4 §5.2.12 */
const TYPE_BITS = 0x3c;
const TEXT = 0;
const INTERMEDIATE = 0x20;
const CONVERSATION_ABORT = 0x18;

/** Binds as a transceiver and reconnects until the signal aborts. */
export function createSmppTransport(deps: SmppTransportDeps): SmsTransport {
  const { clock, signal, onReceipt } = deps;
  const receipts = createReceiptTracker(clock, onReceipt, deps.onAmbiguousReceipt);
  const parts = createInboundParts(clock, signal, deps.onMessage);
  const pacing = createSendPacing(clock);
  let bound: SmppConnection | null = null;
  /** Resolves when the current connection attempt is bound or has failed. */
  let connecting = Promise.resolve();
  let lastError = sentence("not-connected");
  let reference = 0;

  const unavailableResult = (): SendResult => ({
    taken: false,
    reason: sentence("provider", { host: deps.host, problem: lastError }),
    retryable: true,
    down: true,
  });

  const connect = (): void => {
    if (signal.aborted) return;
    let finishAttempt = (): void => undefined;
    connecting = new Promise((resolve) => {
      finishAttempt = resolve;
    });
    const enquiring = clock.every(ENQUIRE_EVERY_MS, () => {
      if (bound === connection) void connection.enquire().then((isAlive) => isAlive || connection.destroy());
    });
    const connection = openSmppConnection({
      ...deps,
      onConnect: () => void bind(connection).then(finishAttempt),
      onMessage: handleMessage,
      onClose(error) {
        enquiring.cancel();
        finishAttempt();
        signal.removeEventListener("abort", connection.destroy);
        if (error !== "") lastError = error;
        else if (bound === connection) lastError = sentence("connection-closed");
        bound = null;
        if (signal.aborted) return;
        deps.onState(unavailableResult());
        clock.after(RECONNECT_MS, connect, { background: true });
      },
    });
    signal.addEventListener("abort", connection.destroy, { once: true });
  };

  async function bind(connection: SmppConnection): Promise<void> {
    const status = await connection.bind(deps);
    if (status === OK) {
      bound = connection;
      deps.onState({ taken: true, level: "sent" });
      return;
    }
    lastError =
      status === null ? sentence("bind-timed-out") : sentence("bind-refused", { status: smppStatusName(status) });
    connection.destroy();
  }

  /** An inbound message is acknowledged only when stored; a temporary error makes the provider resend it. */
  async function handleMessage(message: DeliveredMessage): Promise<number> {
    const type = message.esmClass & TYPE_BITS;
    const isText = type === TEXT && message.receipted_message_id === undefined && !isReceiptText(message.octets);
    if (!isText) {
      const { from, to } = message;
      const details = { numbers: [from, to], isIntermediate: type === INTERMEDIATE };
      if (type !== CONVERSATION_ABORT) receipts.handle(parseDeliveryReceipt(message, message.octets, details));
      return OK;
    }
    const { from, to, text, part } = message;
    const isStored = await (part ? parts.add({ from, to, text, part }) : deps.onMessage({ from, text }));
    return isStored ? OK : TEMPORARY_APPLICATION_ERROR;
  }

  /** Submits one part; a later part is repeated while the provider throttles. */
  async function submit(
    connection: SmppConnection,
    values: Readonly<Record<string, unknown>>,
    attempts: number,
  ): Promise<SubmitResult | null> {
    for (let attempt = 1; ; attempt++) {
      await pacing.ready(signal);
      const result = await connection.submit(values);
      if (result?.status === OK) pacing.speedUp();
      if (result === null || !THROTTLED.has(result.status)) return result;
      pacing.slowDown();
      if (attempt >= attempts) return result;
    }
  }

  const refusedResult = (result: SubmitResult | null): SendResult => {
    if (result === null)
      return { taken: false, reason: sentence("provider-timed-out", { host: deps.host }), retryable: true, down: true };
    const { status } = result;
    const reason = sentence("refused", { status: smppStatusName(status) });
    const retryable = THROTTLED.has(status) || TEMPORARY_ERRORS.has(status);
    const pause = THROTTLED.has(status) ? { retryAfterMs: pacing.slowDown() } : {};
    return { taken: false, reason, retryable, down: false, ...pause };
  };

  async function sendParts(to: string, text: string, id: number | null): Promise<SendResult> {
    // Messages sent while connecting wait instead of failing.
    if (!bound) await connecting;
    const connection = bound;
    if (!connection) return unavailableResult();
    const wantsReceipt = deps.receipts && id !== null;
    reference = (reference + 1) & 0xff;
    const values = { ...addressFields(to, deps), registered_delivery: wantsReceipt ? 1 : 0 };
    const names: string[] = [];
    for (const message of submissionsFor(text, { ...deps, reference })) {
      const attempts = names.length === 0 ? 1 : PART_ATTEMPTS;
      const result = await submit(connection, { ...values, ...message }, attempts);
      if (result?.status !== OK) return refusedResult(result);
      names.push(result.messageId);
    }
    if (wantsReceipt) receipts.expect(id, names, to);
    return { taken: true, level: wantsReceipt ? "sent" : "accepted" };
  }

  connect();
  return {
    // Rejects only because the plugin stops.
    send: (to, text, id) => sendParts(to, text, id).catch(unavailableResult),
    handleReceipt: receipts.handle,
  };
}
