import smpp, { type Pdu, type Session } from "smpp";
import type { SendResult } from "#plugin-api";
import { createReceiptTracker, parseDeliveryReceipt } from "./delivery-receipts.ts";
import { type LongMessageMode, submissionsFor } from "./long-messages.ts";
import type { SmsTransport, SmsTransportDeps } from "./sms-transport.ts";

/** Settings of the SMPP provider. */
export interface SmppTransportDeps extends SmsTransportDeps {
  host: string;
  port: number;
  tls: boolean;
  /** PEM; null for the system's CAs. */
  certificateAuthority: string | null;
  systemId: string;
  password: string;
  systemType: string;
  receipts: boolean;
  mostParts: number;
  longTexts: LongMessageMode;
}

const RECONNECT_MS = 5_000;
const ENQUIRE_EVERY_MS = 30_000;
const RESPONSE_TIMEOUT_MS = 20_000;
const OK = 0;
/** ESME_RX_T_APPN: temporary error of the receiver. @source SMPP 3.4 §5.1.3 */
const TEMPORARY_APPLICATION_ERROR = 0x64;
/** Temporary errors: message queue full, system error, throttled. @source SMPP 3.4 §5.1.3 */
const TEMPORARY_ERRORS = new Set([0x14, 0x08, 0x58]);
/** Bits 5 to 2 of esm_class; 1 is a delivery receipt. @source SMPP 3.4 §5.2.12 */
const TYPE_BITS = 0x3c;
const RECEIPT = 0x04;
/** Type of number and numbering plan. @source SMPP 3.4 §5.2.5, §5.2.6 */
const INTERNATIONAL = { ton: 1, npi: 1 };
const ALPHANUMERIC = { ton: 5, npi: 0 };
const UNKNOWN = { ton: 0, npi: 1 };

/** Binds as a transceiver and reconnects until the signal aborts. */
export function createSmppTransport(deps: SmppTransportDeps): SmsTransport {
  const { clock, signal, onReceipt } = deps;
  const receipts = createReceiptTracker(clock, onReceipt);
  let bound: Session | null = null;
  /** Resolves when the current connection attempt is bound or has failed. */
  let connecting = Promise.resolve();
  let lastError = "not connected";
  let reference = 0;

  const unavailableResult = (): SendResult => ({
    taken: false,
    reason: `provider ${deps.host}: ${lastError}`,
    retryable: true,
    down: true,
  });

  const connect = (): void => {
    if (signal.aborted) return;
    const session = openSession(deps);
    let finishAttempt = (): void => undefined;
    connecting = new Promise((resolve) => {
      finishAttempt = resolve;
    });
    const enquiring = clock.every(ENQUIRE_EVERY_MS, () => {
      if (bound !== session) return;
      void withTimeout(deps, (done) => session.enquire_link({}, done)).then(
        (response) => response ?? session.destroy(),
      );
    });
    session.on(deps.tls ? "secureConnect" : "connect", () => void bind(session).then(finishAttempt));
    session.on("deliver_sm", (pdu: Pdu) => void handleDeliverSm(session, pdu));
    session.on("enquire_link", (pdu: Pdu) => session.send(pdu.response()));
    session.on("unbind", (pdu: Pdu) => {
      session.send(pdu.response());
      session.close();
    });
    session.on("error", (error: Error) => {
      lastError = error.message;
      session.destroy();
    });
    session.on("close", () => {
      enquiring.cancel();
      finishAttempt();
      if (bound === session) lastError = "connection closed";
      bound = null;
      if (signal.aborted) return;
      deps.onState(unavailableResult());
      clock.after(RECONNECT_MS, connect, { background: true });
    });
    signal.addEventListener("abort", () => session.destroy(), { once: true });
  };

  async function bind(session: Session): Promise<void> {
    const { systemId, password, systemType } = deps;
    const login = { system_id: systemId, password, system_type: systemType, interface_version: 0x34 };
    const response = await withTimeout(deps, (done) => session.bind_transceiver(login, done));
    if (response?.command_status === OK) {
      bound = session;
      deps.onState({ taken: true, level: "sent" });
      return;
    }
    lastError = response ? `bind refused (${statusName(response.command_status)})` : "bind timed out";
    session.destroy();
  }

  /** An inbound message is acknowledged only when stored; a temporary error makes the provider resend it. */
  async function handleDeliverSm(session: Session, pdu: Pdu): Promise<void> {
    const text = messageText(pdu);
    const isReceipt = ((pdu.esm_class ?? 0) & TYPE_BITS) === RECEIPT;
    if (isReceipt) receipts.handle(parseDeliveryReceipt(pdu, text));
    const isStored = isReceipt || (await deps.onMessage({ from: pdu.source_addr ?? "", text }));
    session.send(pdu.response({ command_status: isStored ? OK : TEMPORARY_APPLICATION_ERROR }));
  }

  async function submit(session: Session, values: Record<string, unknown>): Promise<Pdu | null> {
    return withTimeout(deps, (done) => session.submit_sm(values, done));
  }

  connect();
  return {
    async send(to, text, id) {
      // Messages sent while connecting wait instead of failing.
      if (!bound) await connecting;
      const session = bound;
      if (!session) return unavailableResult();
      const wantsReceipt = deps.receipts && id !== null;
      reference = (reference + 1) & 0xff;
      const addressed = addressFields(to, wantsReceipt, deps.sender);
      const names: string[] = [];
      for (const message of submissionsFor(text, { ...deps, reference })) {
        const response = await submit(session, { ...addressed, ...message });
        if (response?.command_status !== OK) return refusedResult(response, deps.host);
        names.push(String(response.message_id ?? ""));
      }
      if (wantsReceipt) receipts.expect(id, names);
      return { taken: true, level: wantsReceipt ? "sent" : "accepted" };
    },
    handleReceipt: receipts.handle,
  };
}

function openSession({ host, port, tls, certificateAuthority }: SmppTransportDeps): Session {
  const trusted = certificateAuthority === null ? {} : { ca: certificateAuthority };
  return smpp.connect({ host, port, tls, ...(tls ? { servername: host, ...trusted } : {}) });
}

/** Sends a request; resolves with the response, or null if it could not be sent or timed out. */
function withTimeout(
  { clock }: SmppTransportDeps,
  send: (done: (response: Pdu) => void) => boolean,
): Promise<Pdu | null> {
  return new Promise((resolve) => {
    const timer = clock.after(RESPONSE_TIMEOUT_MS, () => resolve(null));
    const isSent = send((response) => {
      timer.cancel();
      resolve(response);
    });
    if (isSent) return;
    timer.cancel();
    resolve(null);
  });
}

function addressFields(to: string, wantsReceipt: boolean, sender: string | null): Record<string, unknown> {
  const target = to.startsWith("+") ? INTERNATIONAL : UNKNOWN;
  const source = sender === null ? UNKNOWN : /^\+?\d+$/.test(sender) ? INTERNATIONAL : ALPHANUMERIC;
  return {
    source_addr_ton: source.ton,
    source_addr_npi: source.npi,
    source_addr: (sender ?? "").replace(/^\+(?=\d+$)/, ""),
    dest_addr_ton: target.ton,
    dest_addr_npi: target.npi,
    destination_addr: to.replace(/^\+/, ""),
    registered_delivery: wantsReceipt ? 1 : 0,
  };
}

function refusedResult(response: Pdu | null, host: string): SendResult {
  if (response === null) {
    return { taken: false, reason: `provider ${host} timed out`, retryable: true, down: true };
  }
  const { command_status: status } = response;
  const reason = `refused by the provider (${statusName(status)})`;
  return { taken: false, reason, retryable: TEMPORARY_ERRORS.has(status), down: false };
}

/** Name of a command_status. @source SMPP 3.4 §5.1.3 */
function statusName(status: number): string {
  const name = Object.keys(smpp.errors).find((each) => smpp.errors[each] === status);
  return name ?? `0x${status.toString(16).padStart(8, "0")}`;
}

function messageText({ short_message, message_payload }: Pdu): string {
  const message = short_message?.message ?? "";
  const content = message.length > 0 ? message : (message_payload?.message ?? "");
  return typeof content === "string" ? content : content.toString("latin1");
}
