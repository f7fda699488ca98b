import type { AddressInfo } from "node:net";
import smpp, { type Pdu, type Session } from "smpp";
import type { ReceivedMessage, SimulatedService, SimulatedServiceDeps } from "./service.ts";

const SYSTEM_ID = "school";
const PASSWORD = "simulator";
/** Delivery receipt flag of deliver_sm. @source SMPP 3.4 §5.2.12 */
const RECEIPT_CLASS = 4;
/** @source SMPP 3.4 §5.2.28 */
const DELIVERED = 2;

/** An SMPP server of a provider whose handsets are all reachable; sends a receipt for each message that requests one. */
export async function openSmppServer({ at }: SimulatedServiceDeps): Promise<SimulatedService> {
  const receptions: ReceivedMessage[] = [];
  const sessions = new Set<Session>();
  const server = smpp.createServer((session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.on("error", () => undefined);
    session.on("bind_transceiver", (pdu: Pdu) => {
      const isKnown = pdu.system_id === SYSTEM_ID && pdu.password === PASSWORD;
      session.send(pdu.response({ command_status: isKnown ? 0 : smpp.errors.ESME_RBINDFAIL }));
    });
    session.on("enquire_link", (pdu: Pdu) => session.send(pdu.response()));
    session.on("submit_sm", (pdu: Pdu) => {
      const id = `c${receptions.length + 1}`;
      const words = String(pdu.short_message?.message ?? pdu.message_payload?.message ?? "");
      receptions.push({ service: "sms", to: pdu.destination_addr ?? "", words, packets: 0, at: at() });
      session.send(pdu.response({ message_id: id }));
      if (((pdu.registered_delivery ?? 0) & 1) === 1) session.deliver_sm(deliveryReceipt(pdu, id));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    connectionSettings: { host: "127.0.0.1", port: String(port), systemId: SYSTEM_ID, password: PASSWORD },
    receptions: () => receptions,
    stop: () =>
      new Promise((resolve) => {
        for (const session of sessions) session.destroy();
        server.close(() => resolve());
      }),
  };
}

/** @source SMPP 3.4, Appendix B */
function deliveryReceipt({ source_addr, destination_addr }: Pdu, id: string): Record<string, unknown> {
  return {
    esm_class: RECEIPT_CLASS,
    source_addr: destination_addr,
    destination_addr: source_addr,
    receipted_message_id: id,
    message_state: DELIVERED,
    short_message: `id:${id} sub:001 dlvrd:001 stat:DELIVRD err:000 text:`,
  };
}
