import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createConcurrencyLimit } from "../../plugins/ip-phones/concurrency-limit.ts";
import { phoneAddressOf } from "../../plugins/ip-phones/phone.ts";
import { createPhoneClient } from "../../plugins/ip-phones/phone-client.ts";
import { createPusher } from "../../plugins/ip-phones/pusher.ts";
import { createStreamEvents } from "../../plugins/ip-phones/stream-events.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { type SpawnedSimulator, spawnSimulator } from "./simulator-fixture.ts";

const AUTHORIZATION = `Basic ${Buffer.from("u:p").toString("base64")}`;
let campus: SpawnedSimulator;
let url = "";
const events = createStreamEvents(() => url);

/** The own port of the plugin: says yes to every push, and takes what phones tell. */
const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    const { method = "", url: path = "", headers } = request;
    const body = Buffer.concat(parts);
    const answer = events.respond({ method, url: path, headers, body, remoteAddress: "127.0.0.1" });
    response.writeHead(answer?.status ?? 200).end(answer ? "" : "AUTHORIZED");
  });
});

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/auth`;
  campus = await spawnSimulator("--phones", "1", "--auth-url", url);
});

afterAll(async () => {
  await campus.stop();
  server.closeAllConnections();
  await new Promise<void>((resolve) => server.close(() => resolve()));
});

it("gets a notification when a call ends a stream of the streaming API", async () => {
  const [device] = campus.devices;
  const { phone } = phoneAddressOf({ id: "", ...(device as NonNullable<typeof device>) });
  const clock = systemClock;
  const ask = createPhoneClient(
    clock,
    new AbortController().signal,
    createConcurrencyLimit(clock, { min: 1, start: 8, max: 8 }),
    () => true,
  );
  const authentication = { respond: () => ({ status: 200 }), verdictFor: () => null, begin: () => () => {} };
  const pusher = createPusher({
    clock,
    requestPhone: ask,
    authentication,
    authUrl: url,
    authorizationFor: () => AUTHORIZATION,
  });
  let tell = (): void => {};
  const told = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const audio = { group: "239.77.1.9", port: 20_480, codec: "PCMU", ttl: 1, ssrc: 7 } as const;
  const order = { audio, volume: "Maximum", onStopped: events.subscribe(tell) } as const;
  if (!phone) throw new Error("the campus's phone can't be reached");
  expect(await pusher.playMedia(phone, order)).toBeNull();
  const joined = await campus.phone(phone.name);
  expect([joined.joinedAt !== null, joined.leftAt, joined.errors]).toEqual([true, null, []]);
  expect(await pusher.playMedia(phone, order)).toMatch(/RTP Streaming API not supported/);
  await campus.order(`/phones/${phone.name}/call`, { state: "active" });
  await told;
  expect((await campus.phone(phone.name)).leftAt).not.toBeNull();
});
