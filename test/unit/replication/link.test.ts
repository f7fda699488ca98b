import { randomBytes } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { createServer, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { silentLog } from "../../../src/base/log.ts";
import { type CertificateAndKey, issueCertificate, makeAuthority } from "../../../src/operations/make-certificate.ts";
import type { Frame, Wire } from "../../../src/replication/frames.ts";
import { revokeIdentities, whoHolds, whoShows } from "../../../src/replication/identity/enrolment.ts";
import { createHubEnrolment } from "../../../src/replication/identity/hub-enrolment.ts";
import { enrol, type OwnIdentity, proveKey } from "../../../src/replication/identity/own-identity.ts";
import { type Acceptor, createAcceptor } from "../../../src/replication/link/acceptor.ts";
import { challengeText } from "../../../src/replication/link/challenge.ts";
import { createDialer, type Dialer, type DialerNeeds } from "../../../src/replication/link/dialer.ts";
import { askToEnrol, ENROL_PROTOCOL } from "../../../src/replication/link/enrol-exchange.ts";
import type { HubAddress } from "../../../src/replication/link/hub-address.ts";
import { pack, unpack } from "../../../src/replication/link/packing.ts";
import { createSiteTalk } from "../../../src/replication/link/site-talk.ts";
import { createSocketWire, LINK_PROTOCOLS } from "../../../src/replication/link/socket-wire.ts";
import type { SiteTalk } from "../../../src/replication/talk.ts";
import type { WorkStore } from "../../../src/replication/work.ts";
import { createMemoryStore } from "../../sim/memory-store.ts";
import { CATALOGUE } from "../../sim/resources.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const ENDPOINT = "0199b1c2-0000-7000-8000-000000000001";

let authority: CertificateAndKey;
let clock: FakeClock;
let identity: OwnIdentity;
let acceptor: Acceptor;
let plain: Server;
let secure: Server;
let wires: Wire[];
let came: unknown[];
let proxied: string[];
let isStillGood: boolean;
let proxy: Server;
const dialers: Dialer[] = [];
const store = createMemoryStore(CATALOGUE);

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

async function listen(server: Server): Promise<Server> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

beforeAll(async () => {
  clock = createFakeClock(Date.now());
  authority = await makeAuthority("hub", clock.now());
  const works: WorkStore = {
    transact: async (work) => store.perform(work),
    read: async (work) => store.perform(work),
  };
  const desk = createHubEnrolment({ store: works, authority, now: clock.now });
  const { code } = await desk.offer(null);
  identity = await enrol(makeTempDir(), { hub: "https://hub.example.org", code, endpoint: ENDPOINT }, desk.enrol);
  const { certificate, key } = await issueCertificate(authority, ["127.0.0.1"], clock.now());
  plain = await listen(createServer());
  const asked = { ca: authority.certificate, requestCert: true, rejectUnauthorized: false };
  secure = (await listen(createSecureServer({ cert: certificate, key, ...asked }))) as Server;
  for (const server of [plain, secure]) {
    server.on("upgrade", (request, socket, head) => acceptor.accept(request, socket, head));
  }
  const tunnels = new Set<Socket>();
  proxy = await listen(createServer());
  proxy.on("connect", ({ url }: { url: string }, socket: Socket) => {
    proxied.push(url);
    const [host = "", port] = url.split(":");
    const onwards = connect(Number(port), host, () => socket.write("HTTP/1.1 200 OK\r\n\r\n"));
    for (const each of [socket, onwards]) {
      tunnels.add(each);
      each.on("error", () => undefined);
    }
    socket.pipe(onwards).pipe(socket);
  });
  proxy.on("close", () => {
    for (const each of tunnels) each.destroy();
  });
});
beforeEach(() => {
  wires = [];
  came = [];
  proxied = [];
  isStillGood = true;
  acceptor = createAcceptor({
    ...{ clock, log: silentLog },
    hub: {
      connected(wire) {
        wires.push(wire);
        return { frame: (value) => void came.push(value), closed: () => undefined };
      },
    },
    desk: () => Promise.reject(new Error("nobody is enrolled here")),
    async identify(shown) {
      if ("token" in shown) return store.perform(() => whoHolds(shown.token, clock.now()));
      return isStillGood ? store.perform(() => whoShows(shown.keyHash, clock.now())) : null;
    },
    changed: () => undefined,
    talk: (_, said) => void came.push(said),
  });
});
afterEach(() => {
  for (const dialer of dialers.splice(0)) dialer.stop();
  acceptor.stop();
});
afterAll(() => {
  for (const server of [plain, secure, proxy]) server.close();
});

/** Links an appliance, which proves its key by `key`; what the cloud sends lies in `got`. */
function link(address: Partial<HubAddress>, key = identity.key, more: Partial<DialerNeeds> = {}) {
  const got: unknown[] = [];
  const dialer = createDialer({
    ...{ clock, log: silentLog, version: "1.2.3", random: () => 0, changed: () => undefined },
    ...more,
    address: () => ({
      url: `ws://127.0.0.1:${portOf(plain)}`,
      token: identity.token,
      authorities: [],
      ...address,
    }),
    site: {
      connected: (wire) => wire.send({ t: "ping", t0: 1, groups: [] }),
      frame: (_, value) => void got.push(value),
      disconnected: () => undefined,
    },
    talk(said, say) {
      got.push(said);
      if (said.t === "challenge") say({ t: "proof", proof: proveKey(key, challengeText(ENDPOINT, said.nonce)) });
    },
  });
  dialers.push(dialer);
  dialer.start();
  return { dialer, got };
}

const until = (fits: () => void): Promise<void> => vi.waitFor(fits, { timeout: 90_000, interval: 5 });

describe("the cloud lets an appliance in", () => {
  it("that shows its certificate, without more", async () => {
    const { key, certificate } = identity;
    const shown = { key, certificate, authorities: [authority.certificate] };
    const { got } = link({ url: `wss://127.0.0.1:${portOf(secure)}`, token: "none", ...shown });
    await until(() => expect(came).toEqual([{ t: "ping", t0: 1, groups: [] }]));
    expect([acceptor.connected(), got]).toEqual([[ENDPOINT], []]);
  });

  it("that holds its token and signs what is made up, through a proxy that is asked for a tunnel", async () => {
    link({ proxy: `http://127.0.0.1:${portOf(proxy)}` });
    await until(() => expect(came).toEqual([{ t: "ping", t0: 1, groups: [] }]));
    expect([acceptor.connected(), proxied]).toEqual([[ENDPOINT], [`127.0.0.1:${portOf(plain)}`]]);
  });

  it("but not with a token alone: another key, no token, and a token that nobody has are refused, and tried again in a minute", async () => {
    const other = await makeAuthority("other", clock.now());
    const tries = [link({}, other.key), link({ token: "none" })];
    await until(() => expect(tries.map(({ dialer }) => dialer.state().state)).toEqual(["refused", "refused"]));
    expect([wires, acceptor.connected()]).toEqual([[], []]);
    expect(tries.map(({ dialer }) => dialer.state().reason)).toEqual([
      "The cloud did not accept this appliance's key.",
      "The cloud does not know this appliance (401).",
    ]);
    const challenges = (): number => (tries[0] as (typeof tries)[0]).got.length;
    clock.tick(59_000);
    expect(challenges()).toBe(1);
    clock.tick(1_000);
    await until(() => expect(challenges()).toBe(2));
  });

  it("once: a newer connection ends the one before", async () => {
    const first = link({});
    await until(() => expect(came.length).toBe(1));
    const second = link({});
    await until(() => expect(first.dialer.state().reason).toBe("The connection ended: fenced."));
    await until(() => expect(came.length).toBe(2));
    expect([second.dialer.state().reason, acceptor.connected()]).toEqual([null, [ENDPOINT]]);
  });

  it("but not when its key was taken away before it proved it", async () => {
    isStillGood = false;
    const { dialer } = link({});
    await until(() => expect(dialer.state().reason).toBe("The cloud did not accept this appliance's key."));
    expect([wires, acceptor.connected()]).toEqual([[], []]);
  });

  it("until its key is taken away: the link ends, and stays refused", async () => {
    const { dialer } = link({});
    await until(() => expect(acceptor.connected()).toEqual([ENDPOINT]));
    store.perform(() => revokeIdentities(ENDPOINT, clock.now()));
    acceptor.cut(ENDPOINT);
    await until(() => expect(dialer.state().reason).toBe("The cloud took this appliance's key away."));
    clock.tick(60_000);
    await until(() => expect(dialer.state().reason).toBe("The cloud does not know this appliance (401)."));
    expect(acceptor.connected()).toEqual([]);
  });
});

describe("an appliance whose cloud is not to be reached", () => {
  let tries: number;
  let asked: string;
  let isThere = false;
  let heard = 0;
  const hear = (): void => {
    heard += 1;
  };
  const busy = createServer();
  const taking = new WebSocketServer({ noServer: true, handleProtocols: () => LINK_PROTOCOLS[0] as string });
  beforeAll(async () => {
    await listen(busy);
    busy.on("upgrade", (request, socket, head) => {
      if (isThere) return taking.handleUpgrade(request, socket, head, (made) => made.once("message", hear));
      tries += 1;
      socket.end(`HTTP/1.1 503 Service Unavailable\r\n${asked}Connection: close\r\n\r\n`);
    });
  });
  afterAll(() => busy.close());
  /**
   * Links an appliance for which chance is always this, and gives how long it waits after each try, in ms. With `stoodMs`
   * its link stood so long before.
   */
  const waitsOf = async (chance: number, count: number, stoodMs = 0): Promise<number[]> => {
    const waits: number[] = [];
    const log = { ...silentLog, debug: ({ delayMs }: { delayMs: number }) => void waits.push(delayMs) } as never;
    isThere = stoodMs > 0;
    const { dialer } = link({ url: `ws://127.0.0.1:${portOf(busy)}` }, identity.key, { random: () => chance, log });
    if (isThere) {
      await until(() => expect(heard).toBe(1));
      clock.tick(stoodMs);
      [isThere, tries] = [false, 1];
      dialer.cut();
    }
    for (let waited = 1; ; waited++) {
      await until(() => expect([tries, waits.length]).toEqual([waited, waited]));
      if (waited === count) return waits;
      clock.tick(waits.at(-1) ?? 0);
    }
  };

  it("tries again within 12 s, however long that lasts: after the line's return all is equal within 30 s", async () => {
    [tries, asked] = [0, ""];
    expect(await waitsOf(1, 5)).toEqual([2_000, 4_000, 8_000, 12_000, 12_000]);
  });

  it("tries again soon for a while where its link stood, as another node takes over", async () => {
    asked = "";
    expect(await waitsOf(1, 10, 4_000)).toEqual([...Array.from({ length: 9 }, () => 2_000), 4_000]);
  });

  it("waits as long as it is asked to, and as much again by chance", async () => {
    [tries, asked] = [0, "Retry-After: 20\r\n"];
    expect(await waitsOf(0.5, 2)).toEqual([30_000, 30_000]);
  });
});

describe("an appliance that asks to be enrolled", () => {
  const asked = { code: "AAAA", endpoint: ENDPOINT, request: "PEM" };
  const ground = { only: {}, shared: [ENDPOINT], people: [], administrators: [] };
  const enrolled = { endpoint: ENDPOINT, certificate: "PEM", authority: "PEM", token: "t", ground };
  let answer: string;
  let stranger: WebSocketServer;
  beforeAll(async () => {
    stranger = new WebSocketServer({ port: 0, host: "127.0.0.1", handleProtocols: () => ENROL_PROTOCOL });
    stranger.on("connection", (socket) => socket.once("message", () => answer !== "" && socket.send(answer)));
    await once(stranger, "listening");
  });
  afterAll(() => stranger.close());

  /** The name leads nowhere: only where it was found to lead is asked. */
  const ask = () => {
    const { port } = stranger.address() as AddressInfo;
    const found = { address: "127.0.0.1", family: 4 } as const;
    return askToEnrol(`http://cloud.invalid:${port}`, asked, { clock, authority: null, proxy: "", found });
  };

  it("asks where the name was found to lead", async () => {
    answer = JSON.stringify({ enrolled });
    expect(await ask()).toEqual(enrolled);
  });

  it("is not harmed by what is no answer, and takes none without what is to be shared", async () => {
    const { ground: _, ...less } = enrolled;
    for (answer of ["no JSON", "null", "[]", JSON.stringify({ enrolled: less })]) {
      await expect(ask()).rejects.toMatchObject({ type: "upstream", message: expect.stringContaining("no answer of") });
    }
    answer = JSON.stringify({ refused: "The code is too old." });
    await expect(ask()).rejects.toThrow("The code is too old.");
    answer = "";
    const silent = ask();
    clock.tick(30_000);
    await expect(silent).rejects.toThrow("did not answer in time");
  });
});

describe("an appliance that asks its cloud", () => {
  const question = { kind: "renew", request: "PEM" } as const;
  const desk = (say: (talk: SiteTalk) => boolean) =>
    createSiteTalk({ ...{ clock, log: silentLog, say }, identity: () => identity } as never);

  it("knows whether nothing was asked, it was refused, or nobody answered", async () => {
    expect(await desk(() => false).ask(question)).toBeNull();
    const said: SiteTalk[] = [];
    const talk = desk((each) => said.push(each) > 0);
    const [refused, silent] = [talk.ask(question), talk.ask(question)];
    const { ref } = said[0] as SiteTalk & { t: "ask" };
    talk.take({ t: "answer", ref, refused: "There is no such user here." }, () => undefined);
    await expect(refused).rejects.toMatchObject({ type: "upstream", message: "There is no such user here." });
    clock.tick(15_000);
    await expect(silent).rejects.toMatchObject({ type: "outcome-unknown" });
  });
});

describe("frames on a socket", () => {
  const BULK_BYTES = 20_000;
  const page = (to: number, bytes = BULK_BYTES): Frame => {
    const rows = [["p", "deliveries", "x", to, { reason: randomBytes(bytes).toString("base64") }]] as never;
    return { t: "rows", feed: "up.bulk", from: 0, to, tail: "t", rows };
  };
  const urgent: Frame = { t: "heard", cid: "c" };

  /** A socket whose other side answers a ping when the test says so. */
  function open(wayMs: number) {
    const sent: (string | Buffer)[] = [];
    const pings: string[] = [];
    const got: unknown[] = [];
    const socket = Object.assign(new EventEmitter(), {
      ...{ readyState: 1, OPEN: 1, protocol: LINK_PROTOCOLS[0], close: () => undefined, terminate: () => undefined },
      ping: (name: string) => void pings.push(name),
      send(data: string | Buffer, done: () => void) {
        sent.push(data);
        done();
      },
    });
    const ends = { frame: (value: unknown) => void got.push(value), closed: () => undefined };
    const wire = createSocketWire(socket as unknown as WebSocket, clock, ends);
    const answer = (): void => {
      clock.tick(wayMs);
      socket.emit("pong", Buffer.from(pings.at(-1) ?? ""));
    };
    answer();
    return { wire, sent, got, socket, answer };
  }

  it("go as they are where the way is short", async () => {
    const { wire, sent } = open(1);
    for (const frame of [page(1), page(2), urgent]) wire.send(frame);
    await until(() => expect(sent.length).toBe(3));
    expect(sent.map((data) => (JSON.parse(data.toString()) as Frame).t)).toEqual(["rows", "rows", "heard"]);
  });

  it("are packed where it is long, and nothing urgent waits behind more than the one that is on its way", async () => {
    const { wire, sent, answer } = open(50);
    const pages = [page(1), page(2)];
    for (const frame of [...pages, urgent]) wire.send(frame);
    // What is urgent does not even wait until that one is known to have arrived.
    await until(() => expect(sent.length).toBe(2));
    answer();
    await until(() => expect(sent.length).toBe(3));
    const read = await Promise.all(sent.map((data) => (typeof data === "string" ? data : unpack(data, 100_000))));
    expect(read.map((text) => JSON.parse(text) as Frame)).toEqual([pages[0], urgent, pages[1]]);
    const plainLengths = read.map((text) => text.length);
    expect(sent.map((data, at) => data.length < (plainLengths[at] ?? 0))).toEqual([true, false, true]);
  });

  it("that people wait for go before bulk data, and what is urgent before both", async () => {
    const { wire, sent, answer } = open(50);
    wire.send(page(1));
    wire.send(page(2));
    wire.say({ t: "ask", ref: "r", of: { kind: "renew", request: "x" } });
    wire.send(urgent);
    await until(() => expect(sent.length).toBe(2));
    answer();
    await until(() => expect(sent.length).toBe(4));
    const kinds = sent.map((data) => (typeof data === "string" ? (JSON.parse(data) as Frame).t : "packed"));
    expect(kinds).toEqual(["packed", "heard", "ask", "packed"]);
  });

  it("that are short wait together on a slow link: 8 KiB may be on their way, whatever there is to send", async () => {
    const { wire, sent, answer } = open(50);
    const pages = Array.from({ length: 20 }, (_, to) => page(to, 3_000));
    for (const frame of pages) wire.send(frame);
    const bytes = (): number => sent.reduce((sum, data) => sum + data.length, 0);
    await until(() => expect(bytes()).toBeGreaterThan(8_192));
    const before = sent.length;
    expect(before).toBeLessThan(5);
    wire.send(urgent);
    await until(() => expect(sent.length).toBe(before + 1));
    expect(sent.at(-1)?.toString()).toBe(JSON.stringify(urgent));
    for (let answers = 0; sent.length < pages.length + 1 && answers < pages.length; answers++) {
      const known = sent.length;
      answer();
      await until(() => expect(sent.length).toBeGreaterThan(known));
    }
    expect(sent.length).toBe(pages.length + 1);
  });

  it("are unpacked in the turn in which they come: what is urgent waits for no turn of the pages before it", async () => {
    const { got, socket } = open(50);
    const pages = Array.from({ length: 20 }, (_, to) => page(to));
    const packed = await Promise.all(pages.map((each) => pack(JSON.stringify(each))));
    for (const data of packed) socket.emit("message", data, true);
    socket.emit("message", Buffer.from(JSON.stringify(urgent)), false);
    expect(got).toEqual([...pages, urgent]);
  });

  it("that are very long are unpacked beside other work, and keep their place", async () => {
    const { got, socket } = open(50);
    const long = page(1, 400_000);
    socket.emit("message", await pack(JSON.stringify(long)), true);
    socket.emit("message", await pack(JSON.stringify(page(2))), true);
    socket.emit("message", Buffer.from(JSON.stringify(urgent)), false);
    expect(got).toEqual([]);
    await until(() => expect(got.length).toBe(3));
    expect([got[0], got[2]]).toEqual([long, urgent]);
  });

  it("keep their order though some are unpacked first; what can't be unpacked ends the connection", async () => {
    const { got, socket } = open(1);
    const first = page(1);
    socket.emit("message", await pack(JSON.stringify(first)), true);
    socket.emit("message", Buffer.from(JSON.stringify(urgent)), false);
    await until(() => expect(got).toEqual([first, urgent]));
    await expect(unpack(await pack("x".repeat(1_000)), 999)).rejects.toThrow();
    await expect(unpack(Buffer.from([2, 1]), 999)).rejects.toThrow("not packed");
  });
});
