import { createSocket } from "node:dgram";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import plugin from "../../plugins/speakers/index.ts";
import { encodeMuLaw } from "../../src/media/mu-law.ts";
import { ssrcOf } from "../../src/media/rtp.ts";
import { createSrtpEncryptor, type SrtpMasterKey } from "../../src/media/srtp.ts";
import { type HandleHostCall, type InlinePlugin, runInline } from "./inline-plugin.ts";
import { withMemoryState } from "./memory-state.ts";

/** The plugin behind a server of its own, as agents meet it, and the streams that it has opened. */
export interface SpeakersFixture {
  plugin: InlinePlugin;
  /** What agents call the appliance. */
  url: string;
  close(): Promise<void>;
}

export const JOIN_SECRET = "sixteen characters and more";

/** A tone of half a second: 25 packets of 20 ms. */
export const TONE = Int16Array.from({ length: 4_000 }, (_, n) => Math.round(8_000 * Math.sin((n * Math.PI) / 10)));

/** Starts the plugin; every stream that it opens gets the tone, after `leadMs`. */
export async function openSpeakersFixture(
  config: Record<string, unknown> = {},
  { leadMs = 50, kept = withMemoryState }: { leadMs?: number; kept?: (others: HandleHostCall) => HandleHostCall } = {},
): Promise<SpeakersFixture> {
  const answer = kept(({ method, args }) => {
    if (method !== "stream.open") return undefined;
    const target = args[0] as OpenedStream;
    void pause(leadMs).then(() => sendTone(target, ssrcOf(args[1] as string)));
    return undefined;
  });
  const running = await runInline(plugin, {
    config: { joinSecret: JOIN_SECRET, openToAll: false, rules: [], ...config },
    answer,
  });
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", async () => {
      const { method = "GET", headers } = request;
      const url = (request.url ?? "").replace(/^\/x\/speakers/, "");
      const remoteAddress = request.socket.remoteAddress ?? "";
      const asked = { method, headers, url, body: Buffer.concat(parts), remoteAddress };
      const { status, headers: told, body = "" } = await running.request(asked);
      response.writeHead(status, told).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    plugin: running,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      await running.close();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** What the plugin opens a stream to. */
export interface OpenedStream {
  group: string;
  port: number;
  secrecy?: SrtpMasterKey;
}

/** Sends the tone as the streamer does, a packet every 20 ms. */
async function sendTone({ group, port, secrecy }: OpenedStream, ssrc: number): Promise<void> {
  const socket = createSocket("udp4");
  const encrypt = secrecy && createSrtpEncryptor(secrecy);
  const payload = encodeMuLaw(TONE);
  for (let index = 0; index * 160 < payload.length; index++) {
    const packet = Buffer.alloc(172);
    packet.writeUInt16BE(index === 0 ? 0x8080 : 0x8000, 0);
    // Wraps around on its way.
    packet.writeUInt16BE((65_530 + index) % 65_536, 2);
    packet.writeUInt32BE(index * 160, 4);
    packet.writeUInt32BE(ssrc, 8);
    packet.set(payload.subarray(index * 160, index * 160 + 160), 12);
    const sent = encrypt ? encrypt(packet, Math.floor((65_530 + index) / 65_536)) : packet;
    await new Promise<void>((resolve) => socket.send(sent, port, group, () => resolve()));
    await pause(20);
  }
  socket.close();
}
