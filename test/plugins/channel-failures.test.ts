import { type AddressInfo, createServer, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import chat from "../../plugins/chat/index.ts";
import email from "../../plugins/email/index.ts";
import sms from "../../plugins/sms/index.ts";
import type { DeliveryItem, PluginDefinition } from "../../src/plugin-api/index.ts";
import { type InlinePlugin, runInline } from "./inline-plugin.ts";
import { itemOf } from "./test-appliance.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** What a server does to whoever comes. */
type Trouble = "refuses" | "resets" | "errs" | "mute" | "none";

/** A server in trouble, which may get well; `says` are its words to whoever comes, `answers` those to what comes in. */
interface BadPeer {
  port: number;
  trouble: Trouble;
  connections: number;
}

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok";
const ERROR = "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 4\r\nconnection: close\r\n\r\noops";

/** Speaks as much of SMTP or HTTP as a delivery takes. */
async function openBadPeer(trouble: Trouble, protocol: "smtp" | "http"): Promise<BadPeer> {
  const sockets = new Set<Socket>();
  const peer: BadPeer = { port: 0, trouble, connections: 0 };
  const server = createServer((socket) => {
    peer.connections++;
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    if (peer.trouble === "resets") socket.resetAndDestroy();
    else if (peer.trouble === "mute") socket.resume();
    else if (protocol === "http") socket.once("data", () => socket.end(peer.trouble === "errs" ? ERROR : OK));
    else speakSmtp(socket, peer.trouble === "errs");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  peer.port = (server.address() as AddressInfo).port;
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  if (trouble === "refuses") await close();
  else closing.push(close);
  return peer;
}

function speakSmtp(socket: Socket, errs: boolean): void {
  socket.write(errs ? "421 not today\r\n" : "220 mx\r\n");
  let isData = false;
  socket.on("data", (bytes) => {
    for (const line of bytes.toString("latin1").split("\r\n").slice(0, -1)) {
      if (isData && line !== ".") continue;
      isData = line === "DATA";
      socket.write(isData ? "354 go on\r\n" : "250 ok\r\n");
    }
  });
}

const MAIL = {
  ...{ host: "127.0.0.1", security: "none", certificateAuthority: null, username: null, password: null },
  ...{ from: "bells@example.org", fromName: "School", replyTo: null, language: "en", connections: 2 },
  ...{ dkimSelector: null, dkimPrivateKey: null, returnDomain: null },
};
const SMS = {
  ...{ transport: "http", sender: "+15550100", language: "en", mostParts: 4, receipts: false, atOnce: 2 },
  ...{ gatewayBody: '{"to": "{{to}}"}', gatewayType: "application/json", gatewayAuthorization: null },
  ...{ host: null, systemId: null, inboundToken: null, inboundFrom: "from", inboundText: "text" },
  ...{ gatewayAnswerId: null, receiptState: null },
};

/** Each channel by its name: how it is opened opposite a server on a port, and a device of its own. */
const CHANNELS = {
  email: {
    protocol: "smtp",
    device: "ada@example.org",
    open: (port: number) => run(email as PluginDefinition, { ...MAIL, port }),
  },
  sms: {
    protocol: "http",
    device: "+4930123456",
    open: (port: number) => run(sms as PluginDefinition, { ...SMS, gatewayUrl: `http://127.0.0.1:${port}/send` }),
  },
  chat: {
    protocol: "http",
    device: "Office",
    open: (port: number) =>
      run(chat as PluginDefinition, { webhooks: `Office=http://127.0.0.1:${port}/office`, language: "en" }),
  },
} as const;
type Channel = keyof typeof CHANNELS;
const NAMES = Object.keys(CHANNELS) as Channel[];

async function run(plugin: PluginDefinition, config: Record<string, unknown>): Promise<InlinePlugin> {
  const started = await runInline(plugin, { config, allowedTargets: ["127.0.0.0/8"] });
  closing.push(() => started.close());
  return started;
}

function to(name: Channel, deliveryId: number): DeliveryItem {
  const deviceIdentifier = CHANNELS[name].device;
  const device = { id: "0198f3a0-0000-7000-8000-00000000f00d", deviceIdentifier, attributes: {} };
  const recipient = { id: "0198f3a0-0000-7000-8000-0000000000aa", name: "Ada", answers: null };
  return itemOf(deliveryId, { device, recipient, notAfter: Date.now() + 600_000 });
}

describe.each(NAMES)("%s opposite a server in trouble", (name) => {
  it.each(["refuses", "resets", "errs"] as const)(
    "that %s gives deliveries back in words, to be tried again, and says so of itself",
    async (trouble) => {
      const { open, protocol } = CHANNELS[name];
      const peer = await openBadPeer(trouble, protocol);
      const channel = await open(peer.port);
      channel.deliver(to(name, 1));
      const { details } = await channel.outcome(1, "failed");
      expect(details).toMatchObject({ retryable: true });
      expect(details.reason).toMatch(/\w+ .*\w+/);
      expect(channel.statuses.at(-1)?.state).toMatch(/down|degraded/);
      if (trouble === "refuses") return;
      peer.trouble = "none";
      const { connections } = peer;
      channel.deliver(to(name, 2));
      const second = await Promise.race([channel.outcome(2, "failed"), channel.outcome(2, "accepted")]);
      // Either it is not asked again at once, or it is well again and takes it.
      if (second.level === "failed") expect(peer.connections).toBe(connections);
    },
  );
});

it("does not let channels with unresponsive servers delay others, and stops them at once", async () => {
  const open = async (name: Channel, trouble: Trouble): Promise<InlinePlugin> =>
    CHANNELS[name].open((await openBadPeer(trouble, CHANNELS[name].protocol)).port);
  const mute = await Promise.all(NAMES.map((name) => open(name, "mute")));
  for (const [at, name] of NAMES.entries()) mute[at]?.deliver(to(name, 1), to(name, 2));
  const well = await Promise.all(NAMES.map((name) => open(name, "none")));
  for (const [at, name] of NAMES.entries()) well[at]?.deliver(to(name, 1));
  await Promise.all(well.map((channel) => channel.outcome(1, "accepted")));
  expect(mute.flatMap(({ outcomes }) => outcomes)).toEqual([]);
});
