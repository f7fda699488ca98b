import type { AddressInfo } from "node:net";
import smpp, { type Pdu, type Session } from "smpp";

/** A provider's SMPP server on loopback. */
export interface TestSmppServer {
  readonly port: number;
  /** Messages that were submitted, oldest first. */
  readonly submitted: readonly Pdu[];
  /** Resolves when that many were submitted in all. */
  came(count: number): Promise<void>;
  /** Sends a receipt or a text message to whoever is bound. */
  deliver(values: Record<string, unknown>): void;
  /** Asks whoever is bound, and gives the status of the answer. */
  ask(command: "enquire_link" | "deliver_sm", values: Record<string, unknown>): Promise<number>;
  /** Cuts all connections. */
  cut(): void;
  close(): Promise<void>;
}

/** How it answers. */
export interface SmppRules {
  password?: string;
  /** Status of the answer to a submission; null never answers. */
  verdict?(pdu: Pdu): number | null;
}

/** Starts one; its names of messages are m1, m2 … */
export async function openTestSmppServer({ password, verdict = () => 0 }: SmppRules = {}): Promise<TestSmppServer> {
  const sessions = new Set<Session>();
  const submitted: Pdu[] = [];
  let waiting: (() => void)[] = [];
  const server = smpp.createServer((session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.on("error", () => undefined);
    session.on("bind_transceiver", (pdu: Pdu) => {
      const isWrong = password !== undefined && pdu.password !== password;
      session.send(pdu.response({ command_status: isWrong ? smpp.errors.ESME_RBINDFAIL : 0 }));
    });
    session.on("enquire_link", (pdu: Pdu) => session.send(pdu.response()));
    session.on("submit_sm", (pdu: Pdu) => {
      submitted.push(pdu);
      const status = verdict(pdu);
      if (status !== null) session.send(pdu.response({ command_status: status, message_id: `m${submitted.length}` }));
      for (const look of [...waiting]) look();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    submitted,
    came: (count) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (submitted.length < count) return;
          waiting = waiting.filter((each) => each !== look);
          resolve();
        };
        waiting.push(look);
        look();
      }),
    deliver(values) {
      for (const session of sessions) session.deliver_sm(values);
    },
    ask: (command, values) =>
      new Promise((resolve) => {
        for (const session of sessions) session[command](values, ({ command_status }: Pdu) => resolve(command_status));
      }),
    cut() {
      for (const session of sessions) session.destroy();
    },
    close: () =>
      new Promise((resolve) => {
        for (const session of sessions) session.destroy();
        server.close(() => resolve());
      }),
  };
}
