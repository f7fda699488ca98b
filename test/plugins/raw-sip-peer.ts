import { createSocket } from "node:dgram";
import { once } from "node:events";
import {
  firstHeader,
  formatSipMessage,
  parseSipMessage,
  type SipHeaders,
  type SipMessage,
  type SipRequest,
  type SipResponse,
} from "../../plugins/sip/user-agent/sip-message.ts";

/** A SIP device on loopback of which the test writes every message. */
export interface RawSipPeer {
  readonly port: number;
  readonly uri: string;
  /** The next message of this method, or the next response to a request of this method, skipping repetitions. */
  next(method: string): Promise<SipRequest>;
  nextResponse(method: string): Promise<SipResponse>;
  /** Methods of all requests so far, repetitions included. */
  readonly heard: readonly string[];
  respond(request: SipRequest, status: number, more?: { headers?: SipHeaders; body?: string }): void;
  /** Sends a request within the call that `invite` began. */
  send(method: string, invite: SipRequest, more?: { headers?: SipHeaders; body?: string; cseq?: number }): void;
  /** Sends any message. */
  sendRaw(message: SipMessage, port: number): void;
  close(): Promise<void>;
}

/** Opens one; it answers nothing by itself. */
export async function openRawSipPeer(): Promise<RawSipPeer> {
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address();
  const waiting: { message: SipMessage; fromPort: number }[] = [];
  const looks = new Set<() => void>();
  const seen = new Set<string>();
  const heard: string[] = [];
  const ports = new Map<string, number>();
  let count = 0;

  socket.on("message", (bytes, from) => {
    const message = parseSipMessage(bytes);
    if (!message) throw new Error(`not parsed: ${bytes.toString("utf8")}`);
    const method = firstHeader(message, "CSeq")?.split(" ")[1] ?? "";
    if (message.kind === "request") heard.push(method);
    const key = `${message.kind === "request" ? method : message.status} ${firstHeader(message, "Via")}`;
    if (message.kind === "request" && seen.has(key)) return;
    seen.add(key);
    ports.set(firstHeader(message, "Call-ID") ?? "", from.port);
    waiting.push({ message, fromPort: from.port });
    for (const look of looks) look();
  });
  const take = <T extends SipMessage>(fits: (message: SipMessage) => boolean): Promise<T> =>
    new Promise((resolve) => {
      const look = (): void => {
        const at = waiting.findIndex(({ message }) => fits(message));
        if (at < 0) return;
        looks.delete(look);
        resolve(waiting.splice(at, 1)[0]?.message as T);
      };
      looks.add(look);
      look();
    });
  const methodOf = (message: SipMessage): string => firstHeader(message, "CSeq")?.split(" ")[1] ?? "";
  const tagged = (to: string | null): string => (to?.includes("tag=") ? to : `${to};tag=device${port}`);
  const sendRaw = (message: SipMessage, to: number): void => socket.send(formatSipMessage(message), to, "127.0.0.1");

  return {
    port,
    uri: `sip:device@127.0.0.1:${port}`,
    heard,
    next: (method) => take((message) => message.kind === "request" && message.method === method),
    nextResponse: (method) => take((message) => message.kind === "response" && methodOf(message) === method),
    respond(request, status, { headers = [], body = "" } = {}) {
      const copied = ["Via", "From", "Call-ID", "CSeq"].map(
        (name) => [name, firstHeader(request, name) ?? ""] as const,
      );
      const to = ["To", tagged(firstHeader(request, "To"))] as const;
      const type: SipHeaders = body === "" ? [] : [["Content-Type", "application/sdp"]];
      const contact = ["Contact", `<sip:device@127.0.0.1:${port}>`] as const;
      const own = headers.some(([name]) => name === "Contact") ? [] : [contact];
      sendRaw(
        { kind: "response", status, reason: "Scripted", headers: [...copied, to, ...own, ...headers, ...type], body },
        ports.get(firstHeader(request, "Call-ID") ?? "") ?? 0,
      );
    },
    send(method, invite, { headers = [], body = "", cseq = ++count } = {}) {
      const to = ports.get(firstHeader(invite, "Call-ID") ?? "") ?? 0;
      sendRaw(
        {
          kind: "request",
          method,
          uri: `sip:carillon@127.0.0.1:${to}`,
          headers: [
            ["Via", `SIP/2.0/UDP 127.0.0.1:${port};branch=z9hG4bKraw${method}${cseq}`],
            ["From", tagged(firstHeader(invite, "To"))],
            ["To", firstHeader(invite, "From") ?? ""],
            ["Call-ID", firstHeader(invite, "Call-ID") ?? ""],
            ["CSeq", `${cseq} ${method}`],
            ...headers,
          ],
          body,
        },
        to,
      );
    },
    sendRaw,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}
