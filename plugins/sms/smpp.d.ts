// Types of the parts of the package in use; the package has none. @source SMPP 3.4
declare module "smpp" {
  import type { EventEmitter } from "node:events";
  import type { Server as NetServer } from "node:net";

  /** A protocol data unit; its members depend on the command. */
  export interface Pdu {
    command: string;
    command_status: number;
    sequence_number: number;
    system_id?: string;
    password?: string;
    source_addr?: string;
    destination_addr?: string;
    esm_class?: number;
    data_coding?: number;
    registered_delivery?: number;
    message_id?: string;
    receipted_message_id?: string;
    message_state?: number;
    short_message?: { message?: string | Buffer; udh?: Buffer[] };
    message_payload?: { message?: string | Buffer; udh?: Buffer[] };
    sar_msg_ref_num?: number;
    sar_total_segments?: number;
    sar_segment_seqnum?: number;
    source_addr_ton?: number;
    source_addr_npi?: number;
    response(values?: Record<string, unknown>): Pdu;
  }

  /** A connection. */
  export interface Session extends EventEmitter {
    send(pdu: Pdu, onResponse?: (response: Pdu) => void): boolean;
    bind_transceiver(values: Record<string, unknown>, onResponse: (response: Pdu) => void): boolean;
    submit_sm(values: Record<string, unknown>, onResponse: (response: Pdu) => void): boolean;
    deliver_sm(values: Record<string, unknown>, onResponse?: (response: Pdu) => void): boolean;
    enquire_link(values: Record<string, unknown>, onResponse: (response: Pdu) => void): boolean;
    unbind(onResponse?: (response: Pdu) => void): boolean;
    close(): void;
    destroy(): void;
  }

  interface Smpp {
    connect(options: Record<string, unknown>): Session;
    createServer(onSession: (session: Session) => void): NetServer;
    encodings: Record<"ASCII" | "LATIN1" | "UCS2", { match(text: string): boolean; encode(text: string): Buffer }>;
    errors: Readonly<Record<string, number>>;
  }

  const smpp: Smpp;
  export default smpp;
}
