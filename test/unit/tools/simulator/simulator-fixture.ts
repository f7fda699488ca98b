import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, request } from "node:http";
import type { AddressInfo } from "node:net";
import { systemClock } from "../../../../src/lib/clock.ts";
import type { ApiDevice } from "../../../../src/tools/simulator/api-device.ts";
import { parseSimulatorOptions, type SimulatorOptions } from "../../../../src/tools/simulator/options.ts";
import { type Simulator, startSimulator } from "../../../../src/tools/simulator/simulator.ts";

/** What an HTTP request came to: an answer, or the code of the connection's error. */
export interface HttpOutcome {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
  error: string | null;
}

/** A GET that the campus made of the test's own web server. */
export interface Callback {
  path: string;
  query: URLSearchParams;
  from: string;
  headers: IncomingHttpHeaders;
}

/** One answer of the test's web server; null: never answers. */
export type ServedPage = { type: string; body: string | Buffer; status?: number } | null;

/** The peer of the phones: says AUTHORIZED to user "push" with password "se cret&", and serves pages. */
export interface PageServer {
  readonly url: string;
  readonly callbacks: Callback[];
  readonly pages: Map<string, ServedPage>;
  close(): Promise<void>;
}

/** A push's credentials as the header wants them. */
export const CREDENTIALS = `Basic ${Buffer.from("push:se cret&").toString("base64")}`;

/** Starts the peer; `/auth` is its authentication URL. */
export async function startPageServer(): Promise<PageServer> {
  const callbacks: Callback[] = [];
  const pages = new Map<string, ServedPage>();
  const server = createServer((incoming, response) => {
    const { pathname, searchParams: query } = new URL(incoming.url ?? "/", "http://page");
    callbacks.push({ path: pathname, query, from: incoming.socket.remoteAddress ?? "", headers: incoming.headers });
    if (pathname === "/auth") {
      const known = query.get("UserID") === "push" && query.get("Password") === "se cret&";
      return void response.end(known ? "AUTHORIZED" : "UN-AUTHORIZED");
    }
    const page = pages.get(pathname);
    if (page === null) return;
    response.writeHead(page ? (page.status ?? 200) : 404, { "Content-Type": page?.type ?? "text/plain" });
    response.end(page?.body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    callbacks,
    pages,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A campus in this process, made from command line arguments. */
export function simulatorFrom(line: string): Promise<Simulator> {
  return startSimulator(parseSimulatorOptions(line.split(" ").filter(Boolean)) as SimulatorOptions, systemClock);
}

/** Sends one request and waits for its end; connection errors are an outcome too. */
export function requestPhone(
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: string | Buffer } = {},
): Promise<HttpOutcome> {
  return new Promise((resolve) => {
    const failed = (error: NodeJS.ErrnoException): void =>
      resolve({ status: 0, headers: {}, body: "", error: error.code ?? error.message });
    const { method = "GET", headers = {}, body } = options;
    const outgoing = request(url, { method, headers, agent: false }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("error", failed);
      response.on("end", () => {
        const text = Buffer.concat(parts).toString("utf8");
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text, error: null });
      });
    });
    outgoing.on("error", failed);
    outgoing.end(body);
  });
}

/** The address of a device's web server. */
export function urlOf(device: ApiDevice | undefined, path: string): string {
  return `http://${device?.attributes.IPAddress}:${device?.attributes.HttpPort}${path}`;
}

/** Pushes `xml` as the daemon does. */
export function pushXml(
  device: ApiDevice | undefined,
  xml: string,
  headers: Record<string, string> = {},
): Promise<HttpOutcome> {
  return requestPhone(urlOf(device, "/CGI/Execute"), {
    method: "POST",
    headers: { Authorization: CREDENTIALS, "Content-Type": "application/x-www-form-urlencoded", ...headers },
    body: `XML=${encodeURIComponent(xml)}`,
  });
}

/** Pushes an Execute of these URIs, each with priority 0 unless it says `uri priority`. */
export function push(device: ApiDevice | undefined, ...uris: string[]): Promise<HttpOutcome> {
  const items = uris.map((uri) => {
    const [url = "", priority = "0"] = uri.split(" ");
    return `<ExecuteItem Priority="${priority}" URL="${url.replaceAll("&", "&amp;")}"/>`;
  });
  return pushXml(device, `<CiscoIPPhoneExecute>${items.join("")}</CiscoIPPhoneExecute>`);
}

/** An RTP sender of whole frames on the loopback interface. */
export interface RtpSender {
  /** Sends frames `from` to `to` (exclusive) of `payload`, with the marker on frame 0. */
  send(payload: Uint8Array, from: number, to: number): Promise<void>;
  close(): void;
}

/** Opens a sender to a group or host. */
export function openRtpSender(group: string, port: number, ssrc = 99): RtpSender {
  const socket = createSocket("udp4");
  const bound = new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  return {
    async send(payload, from, to) {
      await bound;
      socket.setMulticastInterface("127.0.0.1");
      for (let frame = from; frame < to; frame++) {
        const packet = rtp(ssrc, frame, payload.subarray(frame * 160, (frame + 1) * 160));
        await new Promise((resolve) => socket.send(packet, port, group, resolve));
      }
    },
    close: () => socket.close(),
  };
}

/** An RTP packet whose sequence number wraps after frame 4. */
export function rtp(ssrc: number, frame: number, payload: Uint8Array, payloadType = 0): Buffer {
  const header = Buffer.alloc(12);
  header[0] = 0x80;
  header[1] = (frame === 0 ? 0x80 : 0) | payloadType;
  header.writeUInt16BE((65_531 + frame) & 0xffff, 2);
  header.writeUInt32BE((frame * 160) >>> 0, 4);
  header.writeUInt32BE(ssrc, 8);
  return Buffer.concat([header, payload]);
}

/** A group that no other test process uses. */
export function ownGroup(number: number): { group: string; port: number } {
  return {
    group: `239.${208 + number}.${(process.pid >> 8) & 0xff}.${process.pid & 0xff}`,
    port: 20_480 + 2 * (process.pid >> 16),
  };
}

/** A WAV file of 8 kHz mono 16-bit samples, written here and not by the product. */
export function wavOf(samples: Int16Array): Buffer {
  const head = Buffer.alloc(44);
  head.write("RIFF....WAVEfmt ", 0, "latin1");
  head.write("data", 36, "latin1");
  head.writeUInt32LE(36 + samples.length * 2, 4);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8000, 24);
  head.writeUInt32LE(16_000, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.writeUInt32LE(samples.length * 2, 40);
  return Buffer.concat([head, Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength)]);
}

/** Waits until `ready` is true, looking again at every turn of the event loop. */
export async function until(ready: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await ready())) await new Promise((resolve) => setImmediate(resolve));
}
