import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { type ConnectionLimits, limitConnections } from "../../../src/http/connection-limits.ts";

let server: Server;
let limits: ConnectionLimits;
let sockets: Socket[] = [];

async function serve(maxConnections: number, listener: RequestListener): Promise<void> {
  server = createServer(listener);
  limits = limitConnections(server, maxConnections);
  server.on("connection", (socket) => limits.join(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
}

/** Opens a connection from an address of the loopback network; resolves once the server has it. */
async function open(localAddress = "127.0.0.1"): Promise<Socket> {
  const accepted = new Promise((resolve) => server.once("connection", resolve));
  const socket = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", localAddress });
  socket.on("error", () => undefined).resume();
  sockets.push(socket);
  await accepted;
  return socket;
}

async function ask(socket: Socket, path: string): Promise<string> {
  const answered = new Promise<string>((resolve) => socket.once("data", (data) => resolve(String(data))));
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  return answered;
}

const closed = (socket: Socket) => new Promise((resolve) => socket.once("close", resolve));

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  server.closeAllConnections();
  server.close();
});

describe("connections beyond the limit", () => {
  it("replace the oldest idle one of the address with the most", async () => {
    await serve(4, (_request, response) => response.end("ok"));
    const other = await open("127.0.0.2");
    const [first, second, third] = [await open(), await open(), await open()];
    const firstGone = closed(first);
    const next = await open("127.0.0.3");
    await firstGone;
    expect(await ask(next, "/")).toContain("ok");
    expect([other, second, third].map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
  });

  it("leave a request under way alone while another connection is idle", async () => {
    await serve(2, (request, response) => void (request.url === "/quick" && response.end("ok")));
    const busy = await open();
    const started = new Promise((resolve) => server.once("request", resolve));
    busy.write("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    await started;
    const idle = await open();
    const idleGone = closed(idle);
    const next = await open();
    await idleGone;
    expect(await ask(next, "/quick")).toContain("ok");
    expect(busy.destroyed).toBe(false);
  });

  it("end a stranger's request rather than refuse a new client", async () => {
    await serve(1, (request, response) => void (request.url === "/quick" && response.end("ok")));
    const busy = await open();
    const started = new Promise((resolve) => server.once("request", resolve));
    busy.write("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    await started;
    const busyGone = closed(busy);
    const next = await open("127.0.0.2");
    await busyGone;
    expect(await ask(next, "/quick")).toContain("ok");
  });

  it("never close one of a known client, and are refused if all clients are known", async () => {
    await serve(2, (request, response) => {
      limits.markKnown(request.socket);
      response.end("ok");
    });
    const known = [await open(), await open()];
    for (const socket of known) await ask(socket, "/");
    const refused = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1" });
    sockets.push(refused);
    refused.on("error", () => undefined).resume();
    await closed(refused);
    expect(known.map(({ destroyed }) => destroyed)).toEqual([false, false]);
    const left = new Promise((resolve) => server.once("connection", resolve));
    const gone = closed(known[0] as Socket);
    known[0]?.end();
    await gone;
    const next = await open("127.0.0.2");
    await left;
    expect(await ask(next, "/")).toContain("ok");
  });
});
