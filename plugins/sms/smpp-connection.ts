import smpp, { type Pdu, type Session } from "smpp";
import type { Clock } from "#plugin-api";

/** A message from the provider: a text or a receipt, in deliver_sm or data_sm. */
export interface DeliveredMessage {
  from: string;
  to: string;
  esmClass: number;
  /** The text without its user data header; octets that are no text as Latin-1. */
  text: string;
  /** The same octets as Latin-1, for receipts, whose ids are ASCII in every alphabet. */
  octets: string;
  /** Position in a long message; null for a message in one part. */
  part: MessagePart | null;
  /** Parameters of a receipt. */
  receipted_message_id?: string;
  message_state?: number;
}

/** Position of a part in a long message. */
export interface MessagePart {
  reference: number;
  total: number;
  /** From 1. */
  number: number;
}

export interface SmppLogin {
  systemId: string;
  password: string;
  systemType: string;
}

/** Response to a submission. */
export interface SubmitResult {
  /** command_status. */
  status: number;
  messageId: string;
}

/** One connection to an SMPP server, the only use of the package `smpp`. Requests resolve with null without a response. */
export interface SmppConnection {
  /** Binds as transceiver; resolves with the command_status. */
  bind(login: SmppLogin): Promise<number | null>;
  /** `values` are members of submit_sm; octets are sent as they are. */
  submit(values: Readonly<Record<string, unknown>>): Promise<SubmitResult | null>;
  /** Resolves with false if the peer did not respond. */
  enquire(): Promise<boolean>;
  destroy(): void;
}

export interface SmppConnectionDeps {
  clock: Clock;
  host: string;
  port: number;
  tls: boolean;
  /** PEM; null for the system's CAs. */
  certificateAuthority: string | null;
  onConnect(): void;
  /** Resolves with the command_status of the response. */
  onMessage(message: DeliveredMessage): Promise<number>;
  /** Called once; `error` is empty if the peer closed the connection. */
  onClose(error: string): void;
}

const RESPONSE_TIMEOUT_MS = 20_000;
const USER_DATA_HEADER = 0x40;
/** Information elements of concatenated messages, and of national language tables. @source 3GPP TS 23.040 §9.2.3.24 */
const CONCATENATION_8 = 0x00;
const CONCATENATION_16 = 0x08;
const NATIONAL_TABLES: ReadonlySet<number | undefined> = new Set([0x24, 0x25]);
/** @source SMPP 3.4 §5.2.5 */
const INTERNATIONAL_TON = 1;
/** Values of data_coding. @source SMPP 3.4 §5.2.19 */
const LATIN1 = 3;
const UCS2 = 8;

/** Connects; responds to enquire_link, unbind and unknown commands by itself. */
export function openSmppConnection(deps: SmppConnectionDeps): SmppConnection {
  const { clock, host, port, tls, certificateAuthority } = deps;
  const trusted = certificateAuthority === null ? {} : { ca: certificateAuthority };
  const session: Session = smpp.connect({ host, port, tls, ...(tls ? { servername: host, ...trusted } : {}) });
  let error = "";
  let isClosed = false;

  const respond = (pdu: Pdu, values?: Record<string, unknown>): void => void session.send(pdu.response(values));
  const deliver = (pdu: Pdu): void => {
    void deps.onMessage(readMessage(pdu)).then((status) => respond(pdu, { command_status: status }));
  };
  session.on(tls ? "secureConnect" : "connect", deps.onConnect);
  session.on("deliver_sm", deliver);
  session.on("data_sm", deliver);
  session.on("enquire_link", (pdu: Pdu) => respond(pdu));
  session.on("unknown", (pdu: Pdu) => respond(pdu));
  session.on("unbind", (pdu: Pdu) => {
    respond(pdu);
    session.close();
  });
  // Also a PDU that cannot be parsed; what follows it cannot be trusted.
  session.on("error", (cause: Error) => {
    error = cause.message;
    session.destroy();
  });
  session.on("close", () => {
    if (isClosed) return;
    isClosed = true;
    deps.onClose(error);
  });

  /** Sends a request; resolves with the response, or null if it could not be sent or timed out. */
  const request = (send: (done: (response: Pdu) => void) => boolean): Promise<Pdu | null> =>
    new Promise((resolve) => {
      const timer = clock.after(RESPONSE_TIMEOUT_MS, () => resolve(null));
      const isSent = send((response) => {
        timer.cancel();
        resolve(response);
      });
      if (isSent) return;
      timer.cancel();
      resolve(null);
    });

  return {
    async bind({ systemId, password, systemType }) {
      const login = { system_id: systemId, password, system_type: systemType, interface_version: 0x34 };
      return (await request((done) => session.bind_transceiver(login, done)))?.command_status ?? null;
    },
    async submit(values) {
      const response = await request((done) => session.submit_sm({ ...values }, done));
      return response && { status: response.command_status, messageId: String(response.message_id ?? "") };
    },
    enquire: async () => (await request((done) => session.enquire_link({}, done))) !== null,
    destroy: () => session.destroy(),
  };
}

/** Name of a command_status. @source SMPP 3.4 §5.1.3 */
export function smppStatusName(status: number): string {
  const name = Object.keys(smpp.errors).find((each) => smpp.errors[each] === status);
  return name ?? `0x${status.toString(16).padStart(8, "0")}`;
}

function readMessage(pdu: Pdu): DeliveredMessage {
  const { short_message, message_payload } = pdu;
  const isShort = (short_message?.message?.length ?? 0) > 0;
  const message = (isShort ? short_message?.message : message_payload?.message) ?? "";
  const udh = [...(short_message?.udh ?? []), ...(message_payload?.udh ?? [])];
  const esmClass = pdu.esm_class ?? 0;
  // The package reads an id without its NUL into the next parameter, whose tag begins with a control character.
  const receiptedId = /^[ -~]*/.exec(pdu.receipted_message_id ?? "")?.[0].trim() ?? "";
  return {
    from: pdu.source_addr_ton === INTERNATIONAL_TON ? withPlus(pdu.source_addr ?? "") : (pdu.source_addr ?? ""),
    to: pdu.destination_addr ?? "",
    esmClass,
    text: typeof message === "string" ? message : message.toString("latin1"),
    octets: octetsOf(message, pdu.data_coding ?? 0, udh).toString("latin1"),
    part: ((esmClass & USER_DATA_HEADER) !== 0 ? headerPart(udh) : null) ?? sarPart(pdu),
    ...(receiptedId !== "" && { receipted_message_id: receiptedId }),
    ...(pdu.message_state !== undefined && { message_state: pdu.message_state }),
  };
}

function withPlus(number: string): string {
  return /^\d{7,15}$/.test(number) ? `+${number}` : number;
}

/** The package decodes texts while parsing; its own encoder gives their octets back. */
function octetsOf(message: string | Buffer, coding: number, udh: readonly Buffer[]): Buffer {
  if (typeof message !== "string") return message;
  if (udh.some((element) => NATIONAL_TABLES.has(element[0]))) return Buffer.from(message, "latin1");
  const alphabet = coding & 0x0f;
  return smpp.encodings[alphabet === UCS2 ? "UCS2" : alphabet === LATIN1 ? "LATIN1" : "ASCII"].encode(message);
}

/** @source 3GPP TS 23.040 §9.2.3.24.1, §9.2.3.24.8 */
function headerPart(udh: readonly Buffer[]): MessagePart | null {
  for (const element of udh) {
    const [identifier, length, ...data] = element;
    if (identifier === CONCATENATION_8 && length === 3 && data.length >= 3)
      return validPart(data[0] ?? 0, data[1] ?? 0, data[2] ?? 0);
    if (identifier === CONCATENATION_16 && length === 4 && data.length >= 4)
      return validPart(((data[0] ?? 0) << 8) | (data[1] ?? 0), data[2] ?? 0, data[3] ?? 0);
  }
  return null;
}

/** @source SMPP 3.4 §5.3.2.22 to 24 */
function sarPart({ sar_msg_ref_num, sar_total_segments = 0, sar_segment_seqnum = 0 }: Pdu): MessagePart | null {
  return sar_msg_ref_num === undefined ? null : validPart(sar_msg_ref_num, sar_total_segments, sar_segment_seqnum);
}

function validPart(reference: number, total: number, number: number): MessagePart | null {
  return total > 1 && number >= 1 && number <= total ? { reference, total, number } : null;
}
