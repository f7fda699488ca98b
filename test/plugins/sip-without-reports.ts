import { createSocket } from "node:dgram";
import { once } from "node:events";

/** The other side of SIP that takes every call and even sends sound of its own, but reports on none that it gets. */
export interface SipPeerWithoutReports {
  readonly port: number;
  /** Resolves once a call was taken. */
  asked(): Promise<void>;
  close(): Promise<void>;
}

/** Opens one on loopback. */
export async function openSipPeerWithoutReports(): Promise<SipPeerWithoutReports> {
  const socket = createSocket("udp4").bind(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address();
  let onAsked = (): void => {};
  const asked = new Promise<void>((resolve) => {
    onAsked = resolve;
  });
  socket.on("message", (bytes, from) => {
    const request = bytes.toString("utf8");
    const [method] = request.split(" ", 1);
    if (method === "ACK") return onAsked();
    const copied = ["Via", "From", "To", "Call-ID", "CSeq"].flatMap((name) => {
      const line = new RegExp(`^${name}: .*$`, "m").exec(request)?.[0] ?? "";
      return name === "To" && !line.includes(";tag=") ? [`${line.trim()};tag=mute`] : [line.trim()];
    });
    const body = method === "INVITE" ? SESSION : "";
    const own = [
      `Contact: <sip:mute@127.0.0.1:${port}>`,
      "Content-Type: application/sdp",
      `Content-Length: ${body.length}`,
    ];
    socket.send(["SIP/2.0 200 OK", ...copied, ...own, "", body].join("\r\n"), from.port, from.address);
    const media = /^m=audio (\d+)/m.exec(request)?.[1];
    if (media) socket.send(Buffer.alloc(172, 0x80), Number(media), from.address);
  });
  return { port, asked: () => asked, close: async () => void socket.close() };
}

const SESSION = [
  "v=0",
  "o=- 1 1 IN IP4 127.0.0.1",
  "s=-",
  "c=IN IP4 127.0.0.1",
  "t=0 0",
  "m=audio 30000 RTP/AVP 0",
  "",
].join("\r\n");
