import { once } from "node:events";
import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, type RequestOptions, request } from "node:http";
import { connect, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createHostRouter } from "../../../src/gateway/host-router.ts";
import type { TenantSupervisor } from "../../../src/gateway/process-supervisor.ts";
import { type MainHttpServer, startHttpServer } from "../../../src/http/http-server.ts";
import { systemClock } from "../../../src/lib/clock.ts";

const OWN = { host: "127.0.0.1", port: 0 };

/** An organisation's server, which knows who comes from a port as its process does. */
async function organisation(name: string) {
  const callers = new Map<number, string>();
  const server = await startHttpServer(OWN, systemClock, null, 100, (port) => callers.get(port));
  const process = {
    pid: 1,
    announce: async (port: number, address: string) => void callers.set(port, address),
    gone: (port: number) => void callers.delete(port),
    stop: () => undefined,
  };
  let at: { host: string; port: number } | null = { host: OWN.host, port: Number(new URL(server.url).port) };
  const keeper = {
    name,
    host: `${name}.test`,
    connections: 0,
    target: () => at && { at, process },
  } as TenantSupervisor;
  const away = (): void => {
    at = null;
  };
  return { name, server, keeper, callers, away };
}

type Organisation = Awaited<ReturnType<typeof organisation>>;

describe("the front by host names", () => {
  let all: Organisation[];
  let front: MainHttpServer;
  const agent = new HttpAgent({ keepAlive: true, maxSockets: 1 });
  beforeEach(async () => {
    all = [await organisation("north"), await organisation("south")];
    front = await startHttpServer(OWN, systemClock);
    const host = createHostRouter(
      (name) => all.find(({ keeper }) => keeper.host === name)?.keeper ?? null,
      systemClock,
    );
    front.setRequestListener(host.handleRequest, host.handleUpgrade);
  });
  afterEach(async () => {
    agent.destroy();
    for (const { stop } of [front, ...all.map(({ server }) => server)]) await stop();
  });

  const ask = (host: string, more: RequestOptions = {}): ClientRequest =>
    request(front.url, { agent, localAddress: "127.0.0.2", ...more, headers: { host, ...more.headers } });

  async function answerTo(asking: ClientRequest): Promise<{ status: number | undefined; text: string }> {
    const [response] = (await once(asking, "response")) as [IncomingMessage];
    return { status: response.statusCode, text: Buffer.concat(await response.toArray()).toString() };
  }

  it("hands each request on by its own name, also those of one connection, with the caller's address", async () => {
    for (const { name, server } of all) {
      server.setRequestListener(async (incoming, response) => {
        const body = Buffer.concat(await incoming.toArray()).toString();
        const { remoteAddress } = incoming.socket;
        response.end([name, incoming.method, incoming.url, incoming.headers.host, remoteAddress, body].join(" "));
      });
    }
    for (const host of ["north.test", "south.test:8080", "North.test", "south.test"]) {
      const asking = ask(host, { method: "PUT", path: "/a?b=%20" });
      asking.end("what is said");
      const name = host.slice(0, 5).toLowerCase();
      const text = `${name} PUT /a?b=%20 ${host} 127.0.0.2 what is said`;
      expect(await answerTo(asking)).toEqual({ status: 200, text });
    }
    // One caller, one connection to each.
    expect(all.map(({ keeper, callers }) => [keeper.connections, callers.size])).toEqual([
      [1, 1],
      [1, 1],
    ]);
  });

  it("gives on what is said before the answer has ended", async () => {
    let end = (): void => undefined;
    all[0]?.server.setRequestListener((_incoming, response) => {
      response.writeHead(200);
      response.flushHeaders();
      end = () => response.end("last");
      response.write("first");
    });
    const asking = ask("north.test");
    asking.end();
    const [response] = (await once(asking, "response")) as [IncomingMessage];
    expect(String((await once(response, "data"))[0])).toBe("first");
    end();
    expect(String((await once(response, "data"))[0])).toBe("last");
  });

  it("hands on what leaves HTTP, in both directions", async () => {
    all[1]?.server.setRequestListener(
      () => undefined,
      (incoming, socket) => {
        socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
        socket.write(`${incoming.socket.remoteAddress} `);
        socket.on("data", (said) => socket.end(`heard ${said}`));
      },
    );
    const asking = ask("south.test", { headers: { connection: "Upgrade", upgrade: "websocket" } });
    asking.end();
    const [, socket, head] = (await once(asking, "upgrade")) as [IncomingMessage, Socket, Buffer];
    socket.write("you");
    let text = head.toString();
    for await (const part of socket) text += part;
    expect(text).toBe("127.0.0.2 heard you");
  });

  it.each([{}, { connection: "Upgrade", upgrade: "websocket" }])(
    "refuses other names and who is away %j",
    async (headers) => {
      all[1]?.away();
      for (const [host, status, type] of [
        ["east.test", 421, "wrong-host"],
        ["", 421, "wrong-host"],
        ["south.test", 503, "starting"],
      ] as const) {
        const asking = ask(host, { headers });
        asking.end();
        const { text, ...answer } = await answerTo(asking);
        expect([answer.status, JSON.parse(text).type]).toEqual([status, type]);
      }
    },
  );

  /** What comes back for these very bytes, until the connection ends. */
  async function said(bytes: string): Promise<string> {
    const socket = connect(Number(new URL(front.url).port), "127.0.0.1");
    socket.write(bytes);
    return Buffer.concat(await socket.toArray()).toString();
  }

  it.each(["content-length", "transfer-encoding, host"])("hides no second request behind %j", async (named) => {
    const heard: string[] = [];
    all[0]?.server.setRequestListener(async (incoming, response) => {
      const body = Buffer.concat(await incoming.toArray()).toString();
      heard.push(`${incoming.url} ${incoming.headers.host} ${body}`);
      response.end("heard");
    });
    const hidden = "GET /hidden HTTP/1.1\r\nHost: north.test\r\n\r\n";
    const size = hidden.length;
    const [framing, body] = named.startsWith("content")
      ? [`Content-Length: ${size}`, hidden]
      : ["Transfer-Encoding: chunked", `${size.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`];
    const last = "GET /last HTTP/1.1\r\nHost: north.test\r\nConnection: close\r\n\r\n";
    await said(`GET /a HTTP/1.1\r\nHost: north.test\r\nConnection: ${named}\r\n${framing}\r\n\r\n${body}${last}`);
    expect(heard).toEqual([`/a north.test ${hidden}`, "/last north.test "]);
  });

  it("bears trailers that are announced, and speaks HTTP/1.0 with whoever knows no other", async () => {
    all[0]?.server.setRequestListener((_incoming, response) => {
      response.write("first ");
      response.end("last");
    });
    expect(await said("GET / HTTP/1.0\r\nHost: north.test\r\nTrailer: x\r\n\r\n")).toMatch(/\r\n\r\nfirst last$/);
  });

  it("says that an organisation's server broke off", async () => {
    all[0]?.server.setRequestListener((incoming) => incoming.socket.destroy());
    const asking = ask("north.test");
    asking.end();
    const { status, text } = await answerTo(asking);
    expect([status, JSON.parse(text).type]).toEqual([502, "upstream"]);
  });

  it("opens no tunnels, and waits for nothing in them", async () => {
    all[0]?.server.setRequestListener((_incoming, response) => response.end());
    const text = await said("CONNECT north.test:443 HTTP/1.1\r\nHost: north.test\r\n\r\n");
    expect(text).toMatch(/^HTTP\/1.1 405 (.|\r\n)*"type":"method-not-allowed"/);
    expect(all[0]?.keeper.connections).toBe(0);
  });

  it.each(["keeps its connection", "ends its connection"])(
    "gives on an answer that comes before all was said, of a server that %s",
    async (how) => {
      all[0]?.server.setRequestListener((incoming, response) => {
        if (how.startsWith("ends")) response.shouldKeepAlive = false;
        incoming.resume();
        response.writeHead(413).end("too large");
      });
      const own = new HttpAgent({ keepAlive: true, maxSockets: 1 });
      const asking = ask("north.test", { agent: own, method: "POST", headers: { "transfer-encoding": "chunked" } });
      asking.write("x".repeat(100_000));
      expect(await answerTo(asking)).toEqual({ status: 413, text: "too large" });
      // More than any buffer on the way holds: it is taken, and goes nowhere.
      for (let part = 0; part < 40; part += 1)
        await new Promise((done) => asking.write("x".repeat(1_000_000), () => done(null)));
      asking.end();
      await expect.poll(() => all[0]?.keeper.connections, { timeout: 30_000 }).toBe(0);
      own.destroy();
    },
    60_000,
  );

  it("tells who is still sending that its server broke off, or that there is none of that name", async () => {
    all[0]?.server.setRequestListener((incoming) => incoming.socket.destroy());
    for (const [host, status] of [
      ["north.test", 502],
      ["east.test", 421],
    ] as const) {
      const own = new HttpAgent({ keepAlive: true, maxSockets: 1 });
      const asking = ask(host, { agent: own, method: "POST", headers: { "transfer-encoding": "chunked" } });
      const broken: unknown[] = [];
      asking.on("error", (error) => broken.push(error));
      const answered = answerTo(asking);
      for (let part = 0; part < 20; part += 1)
        await new Promise((done) => asking.write("x".repeat(1_000_000), () => done(null)));
      asking.end();
      expect([(await answered).status, broken]).toEqual([status, []]);
      own.destroy();
    }
  }, 60_000);

  it("holds no way for a caller that left while it was opened", async () => {
    const [north] = all as [Organisation, Organisation];
    let known = (): void => undefined;
    const asked = new Promise<void>((begun) => {
      const process = north.keeper.target()?.process as {
        announceClient(port: number, address: string): Promise<void>;
      };
      process.announceClient = () =>
        new Promise((done) => {
          known = done;
          begun();
        });
    });
    const asking = ask("north.test", { agent: false, headers: { connection: "Upgrade", upgrade: "websocket" } });
    asking.on("error", () => undefined).end();
    await asked;
    expect(north.keeper.connections).toBe(1);
    asking.destroy();
    known();
    await expect.poll(() => north.keeper.connections, { timeout: 30_000 }).toBe(0);
  });

  it("says plainly what headers it does not take, and waits for none for ever", async () => {
    const long = `GET / HTTP/1.1\r\nHost: north.test\r\nX: ${"x".repeat(20_000)}\r\n\r\n`;
    expect(await said(long)).toMatch(/^HTTP\/1.1 431 (.|\r\n)*"type":"too-large"/);
    expect(await said("GET / HTTP/1.1\r\nHost: north.test\r\n")).toMatch(/^HTTP\/1.1 408 /);
    expect(all.map(({ keeper }) => keeper.connections)).toEqual([0, 0]);
  }, 60_000);
});
