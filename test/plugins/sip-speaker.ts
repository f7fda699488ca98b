import { createSocket } from "node:dgram";
import { once } from "node:events";

/** A SIP device on loopback that does what it is told to. */
export interface ScriptedSipSpeaker {
  readonly uri: string;
  /** Methods of the requests so far, repetitions left out. */
  readonly asked: readonly string[];
  /** Resolves when it has been asked so many times in all. */
  came(count: number): Promise<void>;
  /** Ends the call that it took last. */
  hangUp(): void;
  /** Presses a key in that call, as a telephone tells it (RFC 4733): each event is sent three times. */
  press(key: string): void;
  /** The same as a message within the call. */
  inform(contentType: string, body: string): void;
  /** Sends sound into that call, a packet of 160 bytes. */
  speak(payload: Uint8Array): void;
  close(): Promise<void>;
}

/**
 * Answers every INVITE with the next of these statuses, 200 once they are used up; 0 stays silent. A negative one is the
 * answer to the repeated INVITE: the first one or its answer was lost.
 */
export async function openScriptedSipSpeaker(...statuses: number[]): Promise<ScriptedSipSpeaker> {
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address();
  const asked: string[] = [];
  const seen = new Map<string, number>();
  const waiting = new Set<() => void>();
  let last: { invite: string; from: number } | null = null;
  let sent = 0;
  const toMedia = (type: number, timestamp: number, payload: Uint8Array): void => {
    const media = Number(/^m=audio (\d+)/m.exec(last?.invite ?? "")?.[1]);
    const head = Buffer.alloc(12);
    head.writeUInt16BE(0x8000 | type, 0);
    head.writeUInt16BE(sent++, 2);
    head.writeUInt32BE(timestamp, 4);
    socket.send(Buffer.concat([head, payload]), media, "127.0.0.1");
  };
  const within = (method: string, headers: string[], body: string): void => {
    if (!last) throw new Error("there is no call");
    const { invite, from } = last;
    const lines = [
      `${method} sip:carillon@127.0.0.1:${from} SIP/2.0`,
      `Via: SIP/2.0/UDP 127.0.0.1:${port};branch=z9hG4bK${method}${++sent}`,
      `From: ${field(invite, "To")};tag=device`,
      `To: ${field(invite, "From")}`,
      `Call-ID: ${field(invite, "Call-ID")}`,
      `CSeq: ${sent} ${method}`,
      ...headers,
      `Content-Length: ${body.length}`,
    ];
    socket.send([...lines, "", body].join("\r\n"), from, "127.0.0.1");
  };
  const field = (message: string, name: string): string =>
    new RegExp(`^${name}: (.*?)\r?$`, "m").exec(message)?.[1] ?? "";

  socket.on("message", (bytes, from) => {
    const request = bytes.toString("utf8");
    const [method = ""] = request.split(" ", 1);
    if (method.startsWith("SIP/")) return;
    const branch = `${method} ${field(request, "Via")}`;
    const isNew = !seen.has(branch);
    if (isNew) asked.push(method);
    const scripted = method === "INVITE" ? (seen.get(branch) ?? statuses.shift() ?? 200) : 200;
    const status = isNew && scripted < 0 ? 0 : Math.abs(scripted);
    seen.set(branch, scripted);
    for (const look of waiting) look();
    if (method === "ACK" || status === 0) return;
    const isTaken = method === "INVITE" && status === 200;
    if (isTaken) last = { invite: request, from: from.port };
    const to = field(request, "To");
    const lines = [
      `SIP/2.0 ${status} Scripted`,
      ...["Via", "From", "Call-ID", "CSeq"].map((name) => `${name}: ${field(request, name)}`),
      `To: ${to.includes(";tag=") ? to : `${to};tag=device`}`,
      `Contact: <sip:device@127.0.0.1:${port}>`,
      ...(isTaken ? ["Content-Type: application/sdp"] : []),
    ];
    const session = `v=0\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio ${port} RTP/AVP 0 101\r\na=rtpmap:101 telephone-event/8000\r\n`;
    const body = isTaken ? session : "";
    socket.send([...lines, `Content-Length: ${body.length}`, "", body].join("\r\n"), from.port, from.address);
  });
  return {
    uri: `sip:device@127.0.0.1:${port}`,
    asked,
    came: (count) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (asked.length < count) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    hangUp: () => within("BYE", [], ""),
    press(key) {
      const timestamp = 8_000 * sent;
      const event = Buffer.from([KEYS.indexOf(key), 10, 0, 160]);
      for (let n = 0; n < 3; n++) toMedia(101, timestamp, event);
    },
    inform: (contentType, body) => within("INFO", [`Content-Type: ${contentType}`], body),
    speak: (payload) => toMedia(0, 160 * sent, payload),
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

const KEYS = "0123456789*#";
