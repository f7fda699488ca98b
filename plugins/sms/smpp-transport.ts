import smpp, { type Pdu, type Session } from "smpp";
import type { SendResult } from "#plugin-api";
import { createReceiptTracker, parseDeliveryReceipt } from "./delivery-receipts.ts";
import { type LongMessageMode, submissionsFor } from "./long-messages.ts";
import type { SmsTransport, SmsTransportDeps } from "./sms-transport.ts";

/** The provider, and what is asked of it. */
export interface SmppTransportDeps extends SmsTransportDeps {
  host: string;
  port: number;
  tls: boolean;
  /** PEM; null for the system's authorities. */
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
/** @source SMPP 3.4 §5.1.3: ESME_RX_T_APPN, the receiver can't take it for now */
const TEMPORARY_APPLICATION_ERROR = 0x64;
/** Faults of the moment. @source SMPP 3.4 §5.1.3: message queue full, system error, throttled */
const TEMPORARY_ERRORS = new Set([0x14, 0x08, 0x58]);
/** @source SMPP 3.4 §5.2.12: bits 5 to 2 of esm_class; 1 = delivery receipt */
const TYPE_BITS = 0x3c;
const RECEIPT = 0x04;
/** Types of numbers. @source SMPP 3.4 §5.2.5, §5.2.6 */
const INTERNATIONAL = { ton: 1, npi: 1 };
const ALPHANUMERIC = { ton: 5, npi: 0 };
const UNKNOWN = { ton: 0, npi: 1 };

/** Binds as a transceiver, again and again until the signal aborts; long texts go in joined parts. */
export function createSmppTransport(needs: SmppTransportDeps): SmsTransport {
  const { clock, signal, onReceipt } = needs;
  const receipts = createReceiptTracker(clock, onReceipt);
  let bound: Session | null = null;
  /** Resolves when the connection that is being made is bound, or has ended. */
  let connecting = Promise.resolve();
  let fault = "no connection yet";
  let reference = 0;

  const unavailableResult = (): SendResult => ({
    taken: false,
    reason: `the provider ${needs.host}: ${fault}`,
    retryable: true,
    down: true,
  });

  const connect = (): void => {
    if (signal.aborted) return;
    const session = openSession(needs);
    let tried = (): void => undefined;
    connecting = new Promise((resolve) => {
      tried = resolve;
    });
    const enquiring = clock.every(ENQUIRE_EVERY_MS, () => {
      if (bound !== session) return;
      void withTimeout(needs, (done) => session.enquire_link({}, done)).then((answer) => answer ?? session.destroy());
    });
    session.on(needs.tls ? "secureConnect" : "connect", () => void bind(session).then(tried));
    session.on("deliver_sm", (pdu: Pdu) => void handleDeliverSm(session, pdu));
    session.on("enquire_link", (pdu: Pdu) => session.send(pdu.response()));
    session.on("unbind", (pdu: Pdu) => {
      session.send(pdu.response());
      session.close();
    });
    session.on("error", (error: Error) => {
      fault = error.message;
      session.destroy();
    });
    session.on("close", () => {
      enquiring.cancel();
      tried();
      if (bound === session) fault = "it closed the connection";
      bound = null;
      if (signal.aborted) return;
      needs.onState(unavailableResult());
      clock.after(RECONNECT_MS, connect, { background: true });
    });
    signal.addEventListener("abort", () => session.destroy(), { once: true });
  };

  async function bind(session: Session): Promise<void> {
    const { systemId, password, systemType } = needs;
    const login = { system_id: systemId, password, system_type: systemType, interface_version: 0x34 };
    const answer = await withTimeout(needs, (done) => session.bind_transceiver(login, done));
    if (answer?.command_status === OK) {
      bound = session;
      needs.onState({ taken: true, level: "sent" });
      return;
    }
    fault = answer ? `it refused the account (${statusName(answer.command_status)})` : "it did not answer in time";
    session.destroy();
  }

  /** What a person wrote is the provider's until it is stored here: refused for now, it comes again. */
  async function handleDeliverSm(session: Session, pdu: Pdu): Promise<void> {
    const text = messageText(pdu);
    const isReceipt = ((pdu.esm_class ?? 0) & TYPE_BITS) === RECEIPT;
    if (isReceipt) receipts.handle(parseDeliveryReceipt(pdu, text));
    const isTaken = isReceipt || (await needs.onMessage({ from: pdu.source_addr ?? "", text }));
    session.send(pdu.response({ command_status: isTaken ? OK : TEMPORARY_APPLICATION_ERROR }));
  }

  async function submit(session: Session, values: Record<string, unknown>): Promise<Pdu | null> {
    return withTimeout(needs, (done) => session.submit_sm(values, done));
  }

  connect();
  return {
    async send(to, text, id) {
      // What comes while it is being connected need not be tried again.
      if (!bound) await connecting;
      const session = bound;
      if (!session) return unavailableResult();
      const wantsReceipt = needs.receipts && id !== null;
      reference = (reference + 1) & 0xff;
      const addressed = addressFields(to, wantsReceipt, needs.sender);
      const names: string[] = [];
      for (const message of submissionsFor(text, { ...needs, reference })) {
        const answer = await submit(session, { ...addressed, ...message });
        if (answer?.command_status !== OK) return refusedResult(answer, needs.host);
        names.push(String(answer.message_id ?? ""));
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

/** The answer to what is asked; null when it can't be asked, or does not come in time. */
function withTimeout({ clock }: SmppTransportDeps, ask: (done: (answer: Pdu) => void) => boolean): Promise<Pdu | null> {
  return new Promise((resolve) => {
    const timer = clock.after(RESPONSE_TIMEOUT_MS, () => resolve(null));
    const isAsked = ask((answer) => {
      timer.cancel();
      resolve(answer);
    });
    if (isAsked) return;
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

function refusedResult(answer: Pdu | null, host: string): SendResult {
  if (answer === null) {
    return { taken: false, reason: `the provider ${host} did not answer in time`, retryable: true, down: true };
  }
  const { command_status: status } = answer;
  const reason = `the provider refused it (${statusName(status)})`;
  return { taken: false, reason, retryable: TEMPORARY_ERRORS.has(status), down: false };
}

/** @source SMPP 3.4 §5.1.3, command_status */
function statusName(status: number): string {
  const name = Object.keys(smpp.errors).find((each) => smpp.errors[each] === status);
  return name ?? `0x${status.toString(16).padStart(8, "0")}`;
}

function messageText({ short_message, message_payload }: Pdu): string {
  const message = short_message?.message ?? "";
  const said = message.length > 0 ? message : (message_payload?.message ?? "");
  return typeof said === "string" ? said : said.toString("latin1");
}
