import { createHash, sign } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { WebSocket } from "ws";
import { newId } from "../../../src/lib/ids.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { createCertificateAuthority } from "../../../src/ops/tls/certificate-authority.ts";
import { createHubSync, type HubSync } from "../../../src/sync/hub/hub-sync.ts";
import { findIdentityByKey, findIdentityByToken } from "../../../src/sync/identity/enrolment-records.ts";
import { createEnrolmentService } from "../../../src/sync/identity/enrolment-service.ts";
import { enrolAppliance, type LocalIdentity } from "../../../src/sync/identity/local-identity.ts";
import { SYNC_LIMITS } from "../../../src/sync/protocol/frames.ts";
import { readReplicatedTypes } from "../../../src/sync/protocol/replicated-types.ts";
import type { TransactionStore } from "../../../src/sync/storage/transaction-program.ts";
import { type Acceptor, createAcceptor } from "../../../src/sync/transport/acceptor.ts";
import { createMemoryBlobStore } from "../../sim/memory-blob-store.ts";
import { createMemoryStore } from "../../sim/memory-store.ts";
import { CATALOGUE } from "../../sim/resources.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";
import { waitForAssertions } from "../../support/timeouts.ts";

const ENDPOINT = "0199b1c2-0000-7000-8000-000000000001";
const ROWS = 420;

let hub: HubSync;
let acceptor: Acceptor;
let server: Server;
let identity: LocalIdentity;

beforeAll(async () => {
  const clock = createFakeClock(Date.now());
  const store = createMemoryStore(CATALOGUE);
  const works: TransactionStore = {
    transact: async (work) => store.perform(work),
    read: async (work) => store.perform(work),
  };
  const fail = (error: unknown): never => {
    throw error;
  };
  const types = readReplicatedTypes(CATALOGUE);
  hub = createHubSync({
    ...{ store: works, clock, types, limits: SYNC_LIMITS, newId, blobs: createMemoryBlobStore(), onFault: fail },
    onProtocolViolation: (_, reason) => fail(new Error(reason)),
  });
  await hub.start();
  const desk = createEnrolmentService({
    ...{ store: works, now: clock.now, authority: await createCertificateAuthority("hub", clock.now()) },
  });
  const { code } = await desk.createCode({ endpoint: null, domainIds: null });
  identity = await enrolAppliance(
    makeTempDir(),
    { hub: "https://hub.example.org", code, endpoint: ENDPOINT },
    desk.enrol,
  );
  acceptor = createAcceptor({
    ...{
      clock,
      log: silentLog,
      hub,
      enrol: fail as never,
      onLinkChanged: () => undefined,
      onControlMessage: () => undefined,
    },
    identify: async (shown) =>
      store.perform(() =>
        "token" in shown
          ? findIdentityByToken(shown.token, clock.now())
          : findIdentityByKey(shown.keyHash, clock.now()),
      ),
  });
  server = createServer().on("upgrade", (request, socket, head) => acceptor.accept(request, socket, head));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(() => {
  acceptor.stop();
  hub.stop();
  server.close();
});

type Said = Readonly<Record<string, unknown>> & { t: string };
type Row = readonly [op: "p" | "d", type: string, id: string, seq: number, body?: object];

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();

/** An appliance that knows of the link what its description says, and nothing of the product. */
function otherAppliance(url: string, { token, key }: { token: string; key: string }) {
  const socket = new WebSocket(url, ["carillon.1"], { headers: { authorization: `Bearer ${token}` } });
  const say = (frame: object): void => socket.send(JSON.stringify(frame));
  const shown = new Map<string, Row>();
  let staged: Row[] = [];
  let isWhole = false;
  const seen = { frames: [] as string[], unanswered: 0, most: 0, marks: 0, digests: null as unknown, acked: 0 };
  const sums = (type: string, rows: readonly Row[]) => {
    const sum = rows.reduce((all, [, , id, seq]) => all + BigInt(sha256(`${type}|${id}|${seq}`).readUIntBE(0, 6)), 0n);
    return { count: rows.length, sum: Number(sum % 2n ** 48n) };
  };
  const rowsOf = (type: string): Row[] => [...shown.values()].filter((row) => row[1] === type);
  let at = { applied: 0, hot: 0 };
  /** Answers are held back until somebody lets them go. */
  const held: (() => void)[] = [];
  let isHolding = true;

  function page(frame: Said): void {
    seen.unanswered += 1;
    seen.most = Math.max(seen.most, seen.unanswered);
    staged.push(...(frame.rows as Row[]));
    if (frame.t === "snap") isWhole = true;
    if (frame.mark) {
      if (isWhole) shown.clear();
      for (const row of staged)
        row[0] === "p" ? shown.set(`${row[1]}/${row[2]}`, row) : shown.delete(`${row[1]}/${row[2]}`);
      [staged, isWhole] = [[], false];
      at = { ...at, applied: frame.to as number };
      seen.marks += 1;
      seen.digests = (frame.mark as { digests?: unknown }).digests ?? seen.digests;
    }
    const answer = (): void => {
      seen.unanswered -= 1;
      say({ t: "ack", feed: "down.bulk", to: frame.t === "snap" ? frame.h0 : frame.to });
    };
    if (isHolding) held.push(answer);
    else answer();
  }

  function report(cid: string, type: string, body: object): void {
    const [from, to, uid] = [at.hot, at.hot + 1, `uid-${at.hot + 1}`];
    at = { ...at, hot: to };
    say({ t: "rows", feed: "up.hot", from, to, tail: uid, rows: [["p", type, cid, to, uid, body]] });
  }

  socket.on("message", (data) => {
    const frame = JSON.parse(String(data)) as Said;
    seen.frames.push(frame.t);
    if (frame.t === "challenge") {
      const text = `carillon link\n${ENDPOINT}\n${frame.nonce}`;
      say({ t: "proof", proof: sign("sha256", Buffer.from(text), key).toString("base64") });
      const nothing = {
        epoch: null,
        recv: 0,
        applied: 0,
        snap: null,
        cmdHw: 0,
        decided: 0,
        fresh: false,
      };
      const own = { endpoint: ENDPOINT, inc: 1, oseq: { bulk: 0, hot: 0 }, types: ["people"] };
      say({ t: "hello", v: 1, ...own, ...nothing, credit: { frames: 2, bytes: 100_000 } });
    }
    if (frame.t === "snap" || frame.t === "rows") page(frame);
    if (frame.t === "ack") seen.acked = frame.to as number;
    if (frame.t === "repair") for (const row of frame.rows as Row[]) shown.set(`${row[1]}/${row[2]}`, row);
    if (frame.t === "cmd") {
      const { cid } = frame.command as { cid: string };
      report(cid, "taken", { at: 1 });
      for (const outcome of ["started", "done"]) report(cid, "outcome", { outcome, at: 2 });
    }
  });
  return {
    seen,
    shown,
    sums: () => sums("people", rowsOf("people")),
    letGo() {
      isHolding = false;
      for (const answer of held.splice(0)) answer();
    },
    compare() {
      const parts = Array.from({ length: 256 }, (_, part) =>
        rowsOf("people").filter(([, , id]) => sha256(id)[0] === part),
      );
      const buckets = parts.map((rows) => sums("people", rows));
      say({ t: "digest", applied: at.applied, type: "people", buckets });
    },
    close: () => socket.close(),
  };
}

it("serves a client written from the protocol description alone: rows, checkpoints, commands and outcomes", async () => {
  const row = (at: number) => ({ type: "people", id: `p${at}`, body: { id: `p${at}`, note: "" }, scope: null, at: 0 });
  await hub.publish(Array.from({ length: ROWS }, (_, at) => row(at)));
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/api/onprem/v1/link`;
  const client = otherAppliance(url, identity);
  const { seen, shown } = client;

  await waitForAssertions(() => expect(seen.unanswered).toBe(2));
  const command = { cid: "c1", kind: "broadcast", class: "emergency", notAfter: Date.now() + 60_000 } as const;
  await hub.issue([{ endpoint: ENDPOINT, command: { ...command, rank: 0, term: 0, ref: null, body: {} } }]);
  // It waits for no credit, which is used up.
  await waitForAssertions(() => expect([seen.frames.includes("cmd"), seen.marks]).toEqual([true, 0]));
  await waitForAssertions(() => expect(seen.acked).toBe(3));
  expect(await hub.outcomes("c1")).toEqual({ [ENDPOINT]: "done" });

  client.letGo();
  await waitForAssertions(() => expect([shown.size, seen.most]).toEqual([ROWS, 2]));
  expect(seen.digests).toEqual({ people: client.sums() });
  expect(seen.frames.slice(0, 3)).toEqual(["challenge", "welcome", "snap"]);

  await hub.publish([{ ...row(7), body: null }]);
  await waitForAssertions(() => expect([shown.size, seen.marks]).toEqual([ROWS - 1, 2]));

  const lost = shown.get("people/p9");
  shown.delete("people/p9");
  client.compare();
  await waitForAssertions(() => expect(shown.get("people/p9")).toEqual(lost));
  client.close();
});
