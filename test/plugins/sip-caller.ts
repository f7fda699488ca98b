import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { answerChallenge, selectChallenge } from "../../plugins/sip/user-agent/digest.ts";
import {
  cseqOf,
  firstHeader,
  formatSipMessage,
  parseSipMessage,
  rawHeaders,
  type SipHeaders,
  type SipMessage,
  type SipResponse,
} from "../../plugins/sip/user-agent/sip-message.ts";

/** A telephone on loopback that calls the appliance and does only what the test says. */
export interface SipCaller {
  readonly port: number;
  /** Port of its sound. */
  readonly mediaPort: number;
  /** Everything it received, retransmissions included. */
  readonly received: readonly SipMessage[];
  /** RTP packets that it received; the test may remove them. */
  readonly heard: Buffer[];
  /** A new call; nothing is sent yet. */
  call(number: string, more?: { user?: string; callId?: string }): CallerCall;
  /** Sends anything. */
  sendRaw(bytes: Buffer | string): void;
  /** Resolves with the first message that `fits`, received or still to come. */
  receive<T extends SipMessage>(fits: (message: SipMessage) => message is T): Promise<T>;
  close(): Promise<void>;
}

export interface CallerCall {
  readonly id: string;
  /** Sends a request of the call; resolves with its number. */
  send(method: string, more?: { headers?: SipHeaders; body?: string; number?: number; branch?: string }): number;
  /** The final response to the request of that number, or the first of `status`. */
  response(number: number, status?: number): Promise<SipResponse>;
  /** INVITE with the usual offer, and with the password if it is asked for; resolves with the final response. */
  invite(more?: { body?: string; password?: string; headers?: SipHeaders }): Promise<SipResponse>;
  /** As `invite`, and ACK; rejects unless it was answered. */
  connect(more?: { body?: string; password?: string; headers?: SipHeaders }): Promise<SipResponse>;
  /** Speaks 20 ms of a code into the call. */
  speak(payload: Uint8Array, more?: { type?: number; sequence?: number }): void;
  press(key: string): void;
}

/** An offer of G.711 and telephone events. */
export function offerOf(mediaPort: number, formats = "0 8 101", more = ""): string {
  return [
    ...["v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "c=IN IP4 127.0.0.1", "t=0 0"],
    ...[`m=audio ${mediaPort} RTP/AVP ${formats}`, "a=rtpmap:101 telephone-event/8000", more, ""],
  ]
    .filter((line, at, all) => line !== "" || at === all.length - 1)
    .join("\r\n");
}

/** Opens one that calls the appliance's SIP port. */
export async function openSipCaller(to: number): Promise<SipCaller> {
  const [sip, rtp] = [await bound(), await bound()];
  const [{ port }, { port: mediaPort }] = [sip.address(), rtp.address()];
  const received: SipMessage[] = [];
  const heard: Buffer[] = [];
  const looks = new Set<() => void>();
  let calls = 0;
  sip.on("message", (bytes) => {
    const message = parseSipMessage(bytes);
    if (!message) throw new Error(`not parsed: ${bytes.toString("utf8")}`);
    received.push(message);
    // What the appliance asks of a telephone in a call is granted.
    if (message.kind === "request" && message.method !== "ACK") reply(message);
    for (const look of [...looks]) look();
  });
  rtp.on("message", (packet) => void heard.push(packet));
  const sendRaw = (bytes: Buffer | string): void => sip.send(bytes, to, "127.0.0.1");
  const reply = (request: SipMessage): void => {
    const copied = ["Via", "From", "To", "Call-ID", "CSeq"].map(
      (name) => [name, firstHeader(request, name) ?? ""] as const,
    );
    sendRaw(formatSipMessage({ kind: "response", status: 200, reason: "OK", headers: copied, body: "" }));
  };
  const receive = <T extends SipMessage>(fits: (message: SipMessage) => message is T): Promise<T> =>
    new Promise((resolve) => {
      const look = (): void => {
        const found = received.find(fits);
        if (!found) return;
        looks.delete(look);
        resolve(found);
      };
      looks.add(look);
      look();
    });

  const call = (number: string, { user = "214", callId = `call-${port}-${++calls}` } = {}): CallerCall => {
    const target = `sip:${number}@127.0.0.1:${to}`;
    let last = 0;
    let toTag = "";
    let media = 0;
    let sent = 0;
    const send: CallerCall["send"] = (method, { headers = [], body = "", number: given, branch } = {}) => {
      const cseq = given ?? ++last;
      const tagged = toTag === "" ? `<${target}>` : `<${target}>;tag=${toTag}`;
      sendRaw(
        formatSipMessage({
          ...{ kind: "request", method, uri: target, body },
          headers: [
            ["Via", `SIP/2.0/UDP 127.0.0.1:${port};branch=z9hG4bK${branch ?? `${callId}-${method}-${cseq}`};rport`],
            ["From", `<sip:${user}@127.0.0.1>;tag=caller`],
            ["To", tagged],
            ["Call-ID", callId],
            ["CSeq", `${cseq} ${method}`],
            ["Contact", `<sip:${user}@127.0.0.1:${port}>`],
            ...(body === "" || headers.some(([name]) => name === "Content-Type")
              ? []
              : [["Content-Type", "application/sdp"] as const]),
            ...headers,
          ],
        }),
      );
      return cseq;
    };
    const response = (cseq: number, status?: number): Promise<SipResponse> =>
      receive((message): message is SipResponse => {
        if (message.kind !== "response" || firstHeader(message, "Call-ID") !== callId) return false;
        const fits = status === undefined ? message.status >= 200 : message.status === status;
        return fits && cseqOf(message).number === cseq;
      });
    const acknowledge = (cseq: number, branch?: string): void =>
      void send("ACK", { number: cseq, ...(branch === undefined ? {} : { branch }) });
    const invite: CallerCall["invite"] = async ({ body = offerOf(mediaPort), password, headers = [] } = {}) => {
      let cseq = send("INVITE", { body, headers });
      let final = await response(cseq);
      const challenge = final.status === 401 ? selectChallenge(rawHeaders(final, "WWW-Authenticate")) : null;
      if (challenge && password !== undefined) {
        acknowledge(cseq, `${callId}-INVITE-${cseq}`);
        const proof = answerChallenge(challenge, { method: "INVITE", uri: target }, { user, password }, "c0ffee");
        cseq = send("INVITE", { body, headers: [...headers, ["Authorization", proof]] });
        final = await response(cseq);
      }
      if (final.status >= 300) acknowledge(cseq, `${callId}-INVITE-${cseq}`);
      return final;
    };
    const toMedia = (type: number, sequence: number, timestamp: number, payload: Uint8Array): void => {
      const head = Buffer.alloc(12);
      head.writeUInt16BE(0x8000 | type, 0);
      head.writeUInt16BE(sequence % 0x1_0000, 2);
      head.writeUInt32BE(timestamp, 4);
      rtp.send(Buffer.concat([head, payload]), media, "127.0.0.1");
    };
    return {
      id: callId,
      send,
      response,
      invite,
      async connect(more) {
        const final = await invite(more);
        if (final.status !== 200) throw new Error(`${final.status} ${final.reason}`);
        toTag = /;tag=(\S+)/.exec(firstHeader(final, "To") ?? "")?.[1] ?? "";
        media = Number(/^m=audio (\d+)/m.exec(final.body)?.[1]);
        acknowledge(cseqOf(final).number);
        return final;
      },
      speak: (payload, { type = 0, sequence = ++sent } = {}) => toMedia(type, sequence, sequence * 160, payload),
      press(key) {
        const event = Buffer.from(["0123456789*#".indexOf(key), 10, 0, 160]);
        const timestamp = 1_000_000 + 8_000 * ++sent;
        for (let n = 0; n < 3; n++) toMedia(101, ++sent, timestamp, event);
      },
    };
  };

  return {
    ...{ port, mediaPort, received, heard, call, sendRaw, receive },
    async close() {
      await Promise.all([sip, rtp].map((socket) => new Promise<void>((resolve) => socket.close(() => resolve()))));
    },
  };
}

async function bound(): Promise<Socket> {
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  await once(socket, "listening");
  return socket;
}
