import { Socket as DatagramSocket } from "node:dgram";
import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { placeCall } from "../../plugins/sip/user-agent/call.ts";
import { createClientTransactions, type ResponseHandlers } from "../../plugins/sip/user-agent/client-transactions.ts";
import type { RequestSender } from "../../plugins/sip/user-agent/request-sender.ts";
import { createServerTransactions } from "../../plugins/sip/user-agent/server-transactions.ts";
import type { CallHandlers } from "../../plugins/sip/user-agent/sip-call.ts";
import {
  firstHeader,
  parseSipMessage,
  type SipRequest,
  type SipResponse,
} from "../../plugins/sip/user-agent/sip-message.ts";
import {
  type IncomingSipMessage,
  openSipTransports,
  type SipTransports,
} from "../../plugins/sip/user-agent/transports.ts";
import { createFakeClock } from "../support/fake-clock.ts";

/** For what a peer answers. */
const PATIENCE = { timeout: 90_000 };

const HOP = { protocol: "udp", host: "127.0.0.1", port: 5_060 } as const;

function bytesOf(method: string, branch = "1"): Buffer {
  const via = `Via: SIP/2.0/UDP 127.0.0.1;branch=z9hG4bK${branch}`;
  const rest = ["From: <sip:a@h>;tag=1", "To: <sip:b@h>", "Call-ID: c", `CSeq: 1 ${method}`, "Content-Length: 0"];
  return Buffer.from([`${method} sip:b@h SIP/2.0`, via, ...rest, "", ""].join("\r\n"));
}

const requestOf = (method: string, branch?: string) => parseSipMessage(bytesOf(method, branch)) as SipRequest;

function responseOf(status: number, contact = "<sip:b@127.0.0.1>"): SipResponse {
  const headers = [
    ["Via", "SIP/2.0/UDP 127.0.0.1;branch=z9hG4bK1"],
    ["To", "<sip:b@h>;tag=2"],
    ["Contact", contact],
  ];
  const cseq = ["CSeq", "1 INVITE"];
  return {
    kind: "response",
    status,
    reason: "Scripted",
    headers: [...headers, cseq] as [string, string][],
    body: "v=0",
  };
}

describe("the sockets of SIP", () => {
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    vi.restoreAllMocks();
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function open(
    onMessage: (arrival: IncomingSipMessage) => void,
  ): Promise<{ at: SipTransports; errors: Error[] }> {
    const errors: Error[] = [];
    const rest = { port: 0, tls: null, authority: null, address: "127.0.0.1" };
    const at = await openSipTransports({
      ...rest,
      clock: createFakeClock(),
      onMessage,
      onError: (error) => errors.push(error),
    });
    closing.push(at.close);
    return { at, errors };
  }

  async function connect({ ports }: SipTransports): Promise<Socket> {
    const socket = createConnection(ports.tcp, "127.0.0.1").on("error", () => {});
    closing.push(() => socket.destroy());
    await once(socket, "connect");
    return socket;
  }

  it("survive any datagram from any source", async () => {
    const bind = vi.spyOn(DatagramSocket.prototype, "bind");
    const heard: number[] = [];
    const { errors } = await open(({ from, reply }) => {
      heard.push(from.port);
      reply(Buffer.from("answer"));
      throw new RangeError("by accident");
    });
    const udp = bind.mock.contexts[0] as DatagramSocket;
    udp.emit("message", bytesOf("OPTIONS"), { address: "127.0.0.1", port: 0 });
    expect([heard, errors]).toEqual([[], []]);
    udp.emit("message", bytesOf("OPTIONS"), { address: "127.0.0.1", port: 9 });
    expect([heard, errors.map(({ message }) => message)]).toEqual([[9], ["by accident"]]);
  });

  it("answer several pings with one pong", async () => {
    const { at } = await open(({ reply }) => reply(Buffer.from("done")));
    const socket = await connect(at);
    let heard = "";
    socket.on("data", (bytes: Buffer) => {
      heard += bytes;
    });
    socket.write(Buffer.concat([Buffer.from("\r\n\r\n".repeat(2_000)), bytesOf("OPTIONS")]));
    await expect.poll(() => heard).toMatch(/done$/);
    expect(heard).toMatch(/^(\r\n){1,20}done$/);
  });

  it("disconnect peers that read no responses, and more than 256 connections of one address", async () => {
    let count = 0;
    const { at } = await open(({ reply }) => {
      count++;
      reply(Buffer.alloc(1_048_576));
    });
    const mute = (await connect(at)).pause();
    mute.write(Buffer.concat(Array.from({ length: 60 }, () => bytesOf("OPTIONS"))));
    await expect.poll(() => count).toBe(60);
    const gone = once(mute, "close");
    mute.resume();
    await gone;
    const sockets = await Promise.all(Array.from({ length: 256 }, () => connect(at)));
    const more = await connect(at);
    await once(more.resume(), "close");
    expect(sockets.every(({ destroyed }) => !destroyed)).toBe(true);
  });
});

describe("requests of unknown peers", () => {
  it("are refused without using memory, while accepted ones are handled once", () => {
    const clock = createFakeClock();
    const transactions = createServerTransactions({ clock, tag: (name) => `of ${name}` });
    const said: string[] = [];
    const ask = (method: string, status: number, branch: string): number => {
      let handled = 0;
      for (let time = 0; time < 2; time++) {
        const reply = (bytes: Buffer): void =>
          void said.push(firstHeader(parseSipMessage(bytes) as SipResponse, "To") ?? "");
        transactions.handleRequest({ message: requestOf(method, branch), from: HOP, reply }, (respond) => {
          handled++;
          respond(status, "Scripted");
        });
      }
      return handled;
    };
    expect([ask("REGISTER", 401, "1"), ask("INVITE", 404, "2"), ask("OPTIONS", 200, "3")]).toEqual([2, 2, 2]);
    expect(clock.pendingTimers()).toBe(0);
    expect(said[0]).toBe(said[1]);
    expect(ask("REGISTER", 200, "4")).toBe(1);
    expect(clock.pendingTimers()).toBe(1);
    clock.advanceSync(40_000);
    expect(said.length).toBe(8);
  });
});

describe("a call", () => {
  function place(handlers: Partial<CallHandlers>, outbound: Partial<RequestSender>) {
    const callee = { uri: { scheme: "sip", user: "b", host: "127.0.0.1", port: null, params: new Map() }, hop: HOP };
    const rest = {
      credentials: null,
      caller: { user: "a", name: "A" },
      headers: [],
      offer: "v=0",
      answerTo: () => "v=0",
    };
    const clock = createFakeClock();
    const failures: string[] = [];
    let told: ResponseHandlers | null = null;
    const usual: Partial<RequestSender> = {
      contact: async () => ({ uri: "sip:a@127.0.0.1", address: "127.0.0.1" }),
      async send(_hop, _sketch, responses) {
        told = responses;
        return requestOf("INVITE");
      },
      sendWithoutTransaction: async () => requestOf("ACK"),
    };
    const call = placeCall(
      { ...callee, ...rest } as Parameters<typeof placeCall>[0],
      { onAnswered: () => {}, onEnded: () => {}, onFailed: ({ reason: words }) => failures.push(words), ...handlers },
      { clock, outbound: { ...usual, ...outbound } as RequestSender, newId: () => "own", onOver: () => {} },
    );
    const asked = async (): Promise<ResponseHandlers> => vi.waitUntil(() => told, PATIENCE);
    return { call, clock, failures, asked };
  }

  it("fails if its answer cannot be acknowledged", async () => {
    const noWay = () => Promise.reject(new Error("no route to 192.0.2.1"));
    const { failures, asked } = place({}, { sendWithoutTransaction: noWay });
    (await asked()).onFinal(responseOf(200));
    await expect.poll(() => failures).toEqual(["no route to 192.0.2.1"]);
  });

  it("is cancelled once, whatever provisional responses arrive", async () => {
    const methods: string[] = [];
    const sendWithVia = (_hop: unknown, { method }: SipRequest): void => void methods.push(method);
    const { call, asked } = place({}, { sendWithVia });
    const told = await asked();
    void call.hangUp();
    for (let n = 0; n < 3; n++) told.onProvisional?.(responseOf(180));
    expect(methods).toEqual(["CANCEL"]);
  });

  it("refuses a re-offer without a route", async () => {
    let hasWay = true;
    const contact = async () => {
      if (!hasWay) throw new Error("there is no way");
      return { uri: "sip:a@127.0.0.1", address: "127.0.0.1" };
    };
    let answers = 0;
    const { call, asked } = place({ onAnswered: () => void answers++ }, { contact });
    (await asked()).onFinal(responseOf(200));
    await expect.poll(() => answers).toBe(1);
    hasWay = false;
    const said: number[] = [];
    const within = { To: "<sip:a@h>;tag=own", From: "<sip:b@h>;tag=2", "Call-ID": "own", CSeq: "1 UPDATE" };
    const update: SipRequest = { ...requestOf("UPDATE"), headers: Object.entries(within), body: "v=0" };
    expect(call.handleRequest(update, (status) => said.push(status))).toBe(true);
    await expect.poll(() => said).toEqual([500]);
  });

  it("counts 100 Trying as ringing, with a timeout", async () => {
    let ringing = 0;
    const { asked, clock, failures } = place({ onRinging: () => void ringing++ }, {});
    (await asked()).onProvisional?.(responseOf(100));
    expect(ringing).toBe(1);
    clock.advanceSync(60_000);
    expect(failures).toEqual([]);
    const words: string[] = [];
    const transactions = createClientTransactions({ clock, send: async () => {} });
    transactions.start(HOP, requestOf("INVITE"), { onFinal: () => {}, onFailed: (each) => words.push(each) });
    transactions.handleResponse(responseOf(100));
    clock.advanceSync(199_000);
    expect(words).toEqual([]);
    clock.advanceSync(2_000);
    expect(words).toEqual(["no response"]);
    expect(clock.pendingTimers()).toBe(0);
  });
});
