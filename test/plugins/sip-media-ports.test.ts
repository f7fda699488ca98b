import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { afterEach, expect, it } from "vitest";
import { createMediaPortPool } from "../../plugins/sip/media/media-port.ts";

const HOST = "127.0.0.1";
/** A range that nothing else in the tests uses; other programs may have some of its ports. */
const RANGE = { first: 27_000, last: 27_199 };
const TAKEN_PAIRS = 90;

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** Binds a port, unless another program has it. */
async function occupy(port: number): Promise<void> {
  const socket = createSocket("udp4");
  await bind(socket, port).catch(() => {});
  closing.push(() => socket.close());
}

function bind(socket: Socket, port: number): Promise<unknown> {
  const failed = once(socket, "error").then(([error]) => Promise.reject(error));
  const bound = Promise.race([once(socket, "listening"), failed]);
  socket.bind(port, HOST);
  return bound;
}

it("finds a free pair behind any number of neighbouring ports of other programs", async () => {
  for (let pair = 0; pair < TAKEN_PAIRS; pair++) await occupy(RANGE.first + 2 * pair + 1);
  const pool = createMediaPortPool(RANGE);
  closing.push(pool.close);
  expect((await pool.allocate(HOST)).port).toBeGreaterThanOrEqual(RANGE.first + 2 * TAKEN_PAIRS);
});

it("rejects when every pair is taken, and lends one again that was closed", async () => {
  const pool = createMediaPortPool({ first: 27_200, last: 27_203 });
  closing.push(pool.close);
  const [first] = [await pool.allocate(HOST), await pool.allocate(HOST)];
  await expect(pool.allocate(HOST)).rejects.toThrow("no free RTP port");
  first.close();
  first.close();
  expect((await pool.allocate(HOST)).port).toBe(first.port);
});

it("closes every pair at its end, also one that is just being opened", async () => {
  const pool = createMediaPortPool({ first: 27_210, last: 27_213 });
  const { port } = await pool.allocate(HOST);
  const late = pool.allocate(HOST);
  pool.close();
  const other = (await late).port;
  for (const each of [port, port + 1, other, other + 1]) {
    const socket = createSocket("udp4");
    await bind(socket, each);
    socket.close();
  }
  await expect(pool.allocate(HOST)).rejects.toThrow("no free RTP port");
});
