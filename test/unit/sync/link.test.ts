import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { WebSocketServer } from "ws";
import { silentLog } from "../../../src/lib/log.ts";
import {
  type CertificateAndKey,
  createCertificateAuthority,
  issueServerCertificate,
} from "../../../src/ops/tls/certificate-authority.ts";
import { ENROL_PROTOCOL, requestEnrolment } from "../../../src/sync/identity/enrolment-exchange.ts";
import {
  findIdentityByKey,
  findIdentityByToken,
  revokeIdentities,
} from "../../../src/sync/identity/enrolment-records.ts";
import { createEnrolmentService } from "../../../src/sync/identity/enrolment-service.ts";
import { enrolAppliance, type LocalIdentity, signChallenge } from "../../../src/sync/identity/local-identity.ts";
import type { SiteControlMessage } from "../../../src/sync/protocol/control-messages.ts";
import type { FrameTransport } from "../../../src/sync/protocol/frames.ts";
import { buildChallenge } from "../../../src/sync/protocol/key-challenge.ts";
import { createHubControlClient } from "../../../src/sync/site/hub-control-client.ts";
import type { TransactionStore } from "../../../src/sync/storage/transaction-program.ts";
import { type Acceptor, createAcceptor } from "../../../src/sync/transport/acceptor.ts";
import { createDialer, type Dialer, type DialerDeps } from "../../../src/sync/transport/dialer.ts";
import type { HubAddress } from "../../../src/sync/transport/hub-address.ts";
import { LINK_PROTOCOLS } from "../../../src/sync/transport/websocket-transport.ts";
import { createMemoryStore } from "../../sim/memory-store.ts";
import { CATALOGUE } from "../../sim/resources.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { waitForAssertions } from "../../support/timeouts.ts";

const ENDPOINT = "0199b1c2-0000-7000-8000-000000000001";

let authority: CertificateAndKey;
let clock: FakeClock;
let identity: LocalIdentity;
let acceptor: Acceptor;
let plain: Server;
let secure: Server;
let wires: FrameTransport[];
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
  authority = await createCertificateAuthority("hub", clock.now());
  const works: TransactionStore = {
    transact: async (work) => store.perform(work),
    read: async (work) => store.perform(work),
  };
  const desk = createEnrolmentService({ store: works, authority, now: clock.now });
  const { code } = await desk.createCode({ endpoint: null, domainIds: null });
  identity = await enrolAppliance(
    makeTempDir(),
    { hub: "https://hub.example.org", code, endpoint: ENDPOINT },
    desk.enrol,
  );
  const { certificate, key } = await issueServerCertificate(authority, ["127.0.0.1"], clock.now());
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
    enrol: () => Promise.reject(new Error("nobody is enrolled here")),
    async identify(shown) {
      if ("token" in shown) return store.perform(() => findIdentityByToken(shown.token, clock.now()));
      return isStillGood ? store.perform(() => findIdentityByKey(shown.keyHash, clock.now())) : null;
    },
    onLinkChanged: () => undefined,
    onControlMessage: (_, said) => void came.push(said),
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
function link(address: Partial<HubAddress>, key = identity.key, more: Partial<DialerDeps> = {}) {
  const got: unknown[] = [];
  const dialer = createDialer({
    ...{ clock, log: silentLog, version: "1.2.3", random: () => 0, onStateChanged: () => undefined },
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
    onControlMessage(said, say) {
      got.push(said);
      if (said.t === "challenge") say({ t: "proof", proof: signChallenge(key, buildChallenge(ENDPOINT, said.nonce)) });
    },
  });
  dialers.push(dialer);
  dialer.start();
  return { dialer, got };
}

describe("acceptor", () => {
  it("admits an appliance by its certificate", async () => {
    const { key, certificate } = identity;
    const shown = { key, certificate, authorities: [authority.certificate] };
    const { got } = link({ url: `wss://127.0.0.1:${portOf(secure)}`, token: "none", ...shown });
    await waitForAssertions(() => expect(came).toEqual([{ t: "ping", t0: 1, groups: [] }]));
    expect([acceptor.connected(), got]).toEqual([[ENDPOINT], []]);
  });

  it("admits an appliance by token and signed challenge, through a tunnelling proxy", async () => {
    link({ proxy: `http://127.0.0.1:${portOf(proxy)}` });
    await waitForAssertions(() => expect(came).toEqual([{ t: "ping", t0: 1, groups: [] }]));
    expect([acceptor.connected(), proxied]).toEqual([[ENDPOINT], [`127.0.0.1:${portOf(plain)}`]]);
  });

  it("rejects a token without its key, a missing token and an unknown token; the appliance retries in a minute", async () => {
    const other = await createCertificateAuthority("other", clock.now());
    const tries = [link({}, other.key), link({ token: "none" })];
    await waitForAssertions(() =>
      expect(tries.map(({ dialer }) => dialer.state().state)).toEqual(["refused", "refused"]),
    );
    expect([wires, acceptor.connected()]).toEqual([[], []]);
    expect(tries.map(({ dialer }) => dialer.state().reason)).toEqual([
      "The cloud did not accept this appliance's key.",
      "The cloud rejected this appliance's credentials (HTTP 401).",
    ]);
    const challenges = (): number => (tries[0] as (typeof tries)[0]).got.length;
    clock.advanceSync(59_000);
    expect(challenges()).toBe(1);
    clock.advanceSync(1_000);
    await waitForAssertions(() => expect(challenges()).toBe(2));
  });

  it("closes the older connection of an appliance", async () => {
    const first = link({});
    await waitForAssertions(() => expect(came.length).toBe(1));
    const second = link({});
    await waitForAssertions(() => expect(first.dialer.state().reason).toBe("The connection ended: fenced."));
    await waitForAssertions(() => expect(came.length).toBe(2));
    expect([second.dialer.state().reason, acceptor.connected()]).toEqual([null, [ENDPOINT]]);
  });

  it("rejects a key that was revoked before it was proven", async () => {
    isStillGood = false;
    const { dialer } = link({});
    await waitForAssertions(() => expect(dialer.state().reason).toBe("The cloud did not accept this appliance's key."));
    expect([wires, acceptor.connected()]).toEqual([[], []]);
  });

  it("closes the link when the key is revoked, and rejects it afterwards", async () => {
    const { dialer } = link({});
    await waitForAssertions(() => expect(acceptor.connected()).toEqual([ENDPOINT]));
    store.perform(() => revokeIdentities(ENDPOINT, clock.now()));
    acceptor.disconnect(ENDPOINT);
    await waitForAssertions(() => expect(dialer.state().reason).toBe("The cloud revoked this appliance's key."));
    clock.advanceSync(60_000);
    await waitForAssertions(() =>
      expect(dialer.state().reason).toBe("The cloud rejected this appliance's credentials (HTTP 401)."),
    );
    expect(acceptor.connected()).toEqual([]);
  });
});

describe("dialer without a reachable cloud", () => {
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
      await waitForAssertions(() => expect(heard).toBe(1));
      clock.advanceSync(stoodMs);
      [isThere, tries] = [false, 1];
      dialer.disconnect();
    }
    for (let waited = 1; ; waited++) {
      await waitForAssertions(() => expect([tries, waits.length]).toEqual([waited, waited]));
      if (waited === count) return waits;
      clock.advanceSync(waits.at(-1) ?? 0);
    }
  };

  it("retries within 12 s, and is in sync within 30 s after the line returns", async () => {
    [tries, asked] = [0, ""];
    expect(await waitsOf(1, 5)).toEqual([2_000, 4_000, 8_000, 12_000, 12_000]);
  });

  it("retries quickly after a stable link, because another node takes over", async () => {
    asked = "";
    expect(await waitsOf(1, 10, 4_000)).toEqual([...Array.from({ length: 9 }, () => 2_000), 4_000]);
  });

  it("honours Retry-After with jitter", async () => {
    [tries, asked] = [0, "Retry-After: 20\r\n"];
    expect(await waitsOf(0.5, 2)).toEqual([30_000, 30_000]);
  });
});

describe("enrolment request", () => {
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
    const resolved = { address: "127.0.0.1", family: 4 } as const;
    return requestEnrolment(`http://cloud.invalid:${port}`, asked, { clock, authority: null, proxy: "", resolved });
  };

  it("connects to the verified address of the host", async () => {
    answer = JSON.stringify({ enrolled });
    expect(await ask()).toEqual(enrolled);
  });

  it("rejects malformed and incomplete responses", async () => {
    const { ground: _, ...less } = enrolled;
    for (answer of ["no JSON", "null", "[]", JSON.stringify({ enrolled: less })]) {
      await expect(ask()).rejects.toMatchObject({
        type: "upstream",
        message: expect.stringContaining("not an enrolment response"),
      });
    }
    answer = JSON.stringify({ refused: "The code is too old." });
    await expect(ask()).rejects.toThrow("The code is too old.");
    answer = "";
    const silent = ask();
    clock.advanceSync(30_000);
    await expect(silent).rejects.toThrow("did not respond in time");
  });
});

describe("control request", () => {
  const question = { kind: "renew", request: "PEM" } as const;
  const client = (sendControl: (message: SiteControlMessage) => boolean) =>
    createHubControlClient({ ...{ clock, log: silentLog, sendControl }, identity: () => identity } as never);

  it("distinguishes no link, a refusal and no response", async () => {
    expect(await client(() => false).request(question)).toBeNull();
    const said: SiteControlMessage[] = [];
    const connected = client((each) => said.push(each) > 0);
    const [refused, silent] = [connected.request(question), connected.request(question)];
    const { ref } = said[0] as SiteControlMessage & { t: "ask" };
    connected.handle({ t: "answer", ref, refused: "There is no such user here." }, () => undefined);
    await expect(refused).rejects.toMatchObject({ type: "upstream", message: "There is no such user here." });
    clock.advanceSync(15_000);
    await expect(silent).rejects.toMatchObject({ type: "outcome-unknown" });
  });
});
