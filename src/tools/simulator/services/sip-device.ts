import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import type { RtpEndpoint, RtpEndpoints } from "../rtp-endpoints.ts";
import { freePort } from "./free-port.ts";
import { receivedAudioOf, type SimulatedService, type SimulatedServiceDeps } from "./service.ts";

const REPORT_EVERY_MS = 1_000;
const HOST = "127.0.0.1";
const TAG = "simulator";
/** Three seconds. */
const PACKETS_BEFORE_KEY = 150;

/** An accepted call: who called, and where the audio is received. */
interface AcceptedCall {
  id: string;
  from: string;
  source: RtpEndpoint;
  control: Socket;
  /** Target of RTCP reports: the port after the caller's RTP port. @source RFC 3550 §11 */
  reportTo: number;
  ticking: NodeJS.Timeout;
  /** Timer until the key press. */
  pressing?: NodeJS.Timeout;
}

/** Type of the device. */
export interface SipDeviceOptions {
  service: string;
  /** User part of its address; a telephone behind a trunk is called by its number. */
  user: string;
  /** Key that is pressed after three seconds of audio; null for none. */
  key: string | null;
}

/** A SIP device that accepts every call, receives audio and sends RTCP reports every second. @source RFC 3261, RFC 3550 */
export async function openSipDevice(
  { sources }: SimulatedServiceDeps,
  { service, user, key }: SipDeviceOptions,
): Promise<SimulatedService> {
  const socket = createSocket("udp4").bind(0, HOST);
  await once(socket, "listening");
  const { port } = socket.address();
  const calls = new Map<string, Promise<AcceptedCall>>();
  const receivedCalls: AcceptedCall[] = [];

  const acceptCall = async (id: string, request: string): Promise<AcceptedCall> => {
    const existing = calls.get(id);
    if (existing !== undefined) return existing;
    const opening = openCall(id, request, sources);
    calls.set(id, opening);
    const call = await opening;
    receivedCalls.push(call);
    return call;
  };
  /** Presses a key once, in the call of the request. @source RFC 6086; application/dtmf-relay */
  const scheduleKeyPress = (
    pressed: string,
    invite: string,
    call: AcceptedCall,
    remote: { port: number; address: string },
  ): void => {
    if (call.pressing) return;
    call.pressing = setInterval(() => {
      if ((call.source.streams.at(-1)?.slots ?? 0) < PACKETS_BEFORE_KEY) return;
      clearInterval(call.pressing);
      socket.send(dtmfInfo(pressed, invite, port), remote.port, remote.address);
    }, REPORT_EVERY_MS / 10);
  };
  const endCall = async (id: string): Promise<void> => {
    const call = await calls.get(id);
    if (!call) return;
    calls.delete(id);
    clearInterval(call.ticking);
    clearInterval(call.pressing);
    call.control.close();
    sources.close(call.source);
  };
  socket.on("message", async (bytes, remote) => {
    const request = bytes.toString("utf8");
    const [method = ""] = request.split(" ", 1);
    if (method === "ACK" || method.startsWith("SIP/")) return;
    const id = header(request, "Call-ID");
    const body = method === "INVITE" ? sessionDescription((await acceptCall(id, request)).source.port) : "";
    socket.send(okResponse(request, { user, port }, body), remote.port, remote.address);
    if (method === "INVITE" && key !== null) scheduleKeyPress(key, request, await acceptCall(id, request), remote);
    if (method === "BYE" || method === "CANCEL") await endCall(id);
  });
  return {
    connectionSettings: { uri: `sip:${user}@${HOST}:${port}`, trunk: `sip:${HOST}:${port}` },
    receptions: () => receivedCalls.flatMap(({ source, from }) => receivedAudioOf(source, service, from)),
    async stop() {
      await Promise.all([...calls.keys()].map(endCall));
      socket.close();
    },
  };
}

async function openCall(id: string, request: string, sources: RtpEndpoints): Promise<AcceptedCall> {
  const [sound, control] = await portPair();
  const source = await sources.openUnicast(HOST, sound, "0.0.0.0");
  const [, offered = "0"] = /^m=audio (\d+)/m.exec(request) ?? [];
  const reportTo = Number(offered) + 1;
  const ticking = setInterval(() => {
    const report = receiverReport(source);
    if (report) control.send(report, reportTo, HOST);
  }, REPORT_EVERY_MS);
  return { id, from: header(request, "From"), source, control, reportTo, ticking };
}

/** A free even port, and a socket on the next odd one. */
async function portPair(): Promise<[sound: number, control: Socket]> {
  for (;;) {
    const port = await freePort();
    if (port % 2 === 1) continue;
    const control = createSocket("udp4").bind(port + 1, HOST);
    const failed = await Promise.race([
      once(control, "listening").then(() => false),
      once(control, "error").then(() => true),
    ]);
    if (!failed) return [port, control];
  }
}

/** A receiver report for the newest stream; null before any. @source RFC 3550 §6.4.2 */
function receiverReport({ streams }: RtpEndpoint): Buffer | null {
  const stream = streams.at(-1);
  if (!stream) return null;
  const report = Buffer.alloc(32);
  report.writeUInt8(0x81, 0);
  report.writeUInt8(201, 1);
  report.writeUInt16BE(7, 2);
  report.writeUInt32BE(1, 4);
  report.writeUInt32BE(stream.ssrc, 8);
  report.writeUInt32BE(stream.firstSequence + stream.slots - 1, 16);
  return report;
}

function header(message: string, name: string): string {
  return new RegExp(`^${name}: (.*?)\r?$`, "im").exec(message)?.[1] ?? "";
}

function okResponse(request: string, { user, port }: { user: string; port: number }, body: string): string {
  const to = header(request, "To");
  const vias = [...request.matchAll(/^Via: (.*?)\r?$/gim)].map(([, via]) => `Via: ${via}`);
  return [
    "SIP/2.0 200 OK",
    ...vias,
    ...["From", "Call-ID", "CSeq"].map((name) => `${name}: ${header(request, name)}`),
    `To: ${to.includes(";tag=") ? to : `${to};tag=${TAG}`}`,
    `Contact: <sip:${user}@${HOST}:${port}>`,
    ...(body === "" ? [] : ["Content-Type: application/sdp"]),
    `Content-Length: ${body.length}`,
    "",
    body,
  ].join("\r\n");
}

function dtmfInfo(key: string, invite: string, port: number): string {
  const body = `Signal=${key}\r\nDuration=160\r\n`;
  const target = /<([^>]+)>/.exec(header(invite, "Contact"))?.[1] ?? "";
  const to = header(invite, "To");
  return [
    `INFO ${target} SIP/2.0`,
    `Via: SIP/2.0/UDP ${HOST}:${port};branch=z9hG4bK${TAG}${header(invite, "Call-ID").length}${key}`,
    "Max-Forwards: 70",
    `From: ${to};tag=${TAG}`,
    `To: ${header(invite, "From")}`,
    `Call-ID: ${header(invite, "Call-ID")}`,
    "CSeq: 1 INFO",
    "Content-Type: application/dtmf-relay",
    `Content-Length: ${body.length}`,
    "",
    body,
  ].join("\r\n");
}

/** Offers µ-law only. @source RFC 4566 */
function sessionDescription(port: number): string {
  const lines = ["v=0", `o=- 1 1 IN IP4 ${HOST}`, "s=-", `c=IN IP4 ${HOST}`, "t=0 0", `m=audio ${port} RTP/AVP 0`];
  return `${lines.join("\r\n")}\r\n`;
}
