/**
 * A speaker in a network of its own: `network-speaker-server.js NAME ADDRESS:GROUP:PORT…` joins the groups at the addresses and
 * prints a line of JSON for each RTP packet: which join it came by and its SSRC and sequence number. With `sip:ADDRESS` it is
 * also a SIP speaker that answers one call at a time, refuses a second one as busy, and reports what it hears.
 */
import { createSocket, type RemoteInfo, type Socket } from "node:dgram";

const SIP_PORT = 5_060;
const MEDIA_PORT = 40_000;

const print = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

for (const wanted of process.argv.slice(2)) {
  const [address = "", group = "", port = ""] = wanted.split(":");
  if (address === "sip") answerCalls(group);
  else listenTo(address, group, Number(port));
}

function listenTo(address: string, group: string, port: number): void {
  const socket = createSocket({ type: "udp4", reuseAddr: true });
  socket.on("message", (packet) => hear(`${address} ${group}`, packet));
  socket.bind(port, group, () => {
    socket.addMembership(group, address);
    print({ joined: `${address} ${group}` });
  });
}

function hear(where: string, packet: Buffer): void {
  if (packet.length >= 12) print({ heard: where, ssrc: packet.readUInt32BE(8), sequence: packet.readUInt16BE(2) });
}

function answerCalls(address: string): void {
  const sip = createSocket("udp4").bind(SIP_PORT, address, () => print({ joined: `sip ${address}` }));
  const media = createSocket("udp4").bind(MEDIA_PORT, address);
  media.on("message", (packet) => hear(`sip ${address}`, packet));
  let current: string | null = null;
  sip.on("message", (bytes, from) => {
    const text = bytes.toString("latin1");
    const method = text.slice(0, text.indexOf(" "));
    const callId = header(text, "Call-ID");
    if (method === "INVITE" && (current === null || current === callId)) {
      current = callId;
      print({ called: address });
      answer(sip, from, text, "200 OK", sdp(address));
    } else if (method === "INVITE") answer(sip, from, text, "486 Busy Here", "");
    else if (method === "BYE" || method === "CANCEL") {
      if (current === callId) current = null;
      answer(sip, from, text, "200 OK", "");
    } else if (method === "OPTIONS") answer(sip, from, text, "200 OK", "");
  });
}

function header(text: string, name: string): string {
  return new RegExp(`^${name}:\\s*(.*)$`, "im").exec(text)?.[1]?.trim() ?? "";
}

function sdp(address: string): string {
  return `v=0\r\no=- 1 1 IN IP4 ${address}\r\ns=-\r\nc=IN IP4 ${address}\r\nt=0 0\r\nm=audio ${MEDIA_PORT} RTP/AVP 0\r\na=sendrecv\r\n`;
}

function answer(socket: Socket, to: RemoteInfo, request: string, status: string, body: string): void {
  const copied = request
    .split("\r\n")
    .filter((line) => /^(Via|From|Call-ID|CSeq):/i.test(line))
    .join("\r\n");
  const target = header(request, "To");
  const text =
    `SIP/2.0 ${status}\r\n${copied}\r\nTo: ${target}${target.includes("tag=") ? "" : ";tag=speaker"}\r\n` +
    `Contact: <sip:gym@${socket.address().address}:${SIP_PORT}>\r\n` +
    (body === "" ? "" : "Content-Type: application/sdp\r\n") +
    `Content-Length: ${body.length}\r\n\r\n${body}`;
  socket.send(text, to.port, to.address);
}
