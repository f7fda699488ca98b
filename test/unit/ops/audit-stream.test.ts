import { existsSync, readFileSync, renameSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createServer, type Server, type TLSSocket } from "node:tls";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { silentLog } from "../../../src/lib/log.ts";
import { type AuditStream, createAuditStream, syslogFrame } from "../../../src/ops/audit-stream.ts";
import { OPERATION_STATE } from "../../../src/ops/operation-state.ts";
import users from "../../../src/resources/people/users.ts";
import { type ApplianceData, openApplianceDataOffline } from "../../../src/wiring/appliance-data.ts";
import { initAppliance } from "../../../src/wiring/init.ts";
import { TEST_ADMIN } from "../../support/daemon.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";
import { makeKey } from "../../support/saml-peer.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

let clock: FakeClock;
let data: ApplianceData;
let dataDir: string;
let stream: AuditStream | null = null;
const servers: Server[] = [];

beforeEach(async () => {
  clock = createFakeClock();
  dataDir = makeTempDir();
  await initAppliance(dataDir, TEST_ADMIN, clock);
  data = await openApplianceDataOffline(dataDir, clock, undefined, [OPERATION_STATE]);
});
afterEach(async () => {
  await stream?.stop();
  for (const server of servers.splice(0)) server.close();
  await data.close();
});

const addUser = (name: string) =>
  data.store.create(users, { name, type: "anonymous" }, data.access.systemContext("test"));

/** The names of the users whose creation was sent. */
const createdIn = (lines: readonly Record<string, unknown>[]): unknown[] =>
  lines
    .filter(({ op, resource }) => op === "create" && resource === "users")
    .map(({ after }) => (after as { name: string }).name);

const start = async (given: { file?: string; port?: number; authority?: string }): Promise<AuditStream> => {
  stream = createAuditStream({
    ...{ store: data.store, clock, log: silentLog, hostName: "bell tower" },
    settings: { file: given.file ?? null, syslog: null },
    target: given.port === undefined ? null : { host: "localhost", port: given.port },
    authority: given.authority ?? null,
  });
  await stream.start();
  return stream;
};

describe("the audit as JSON lines", () => {
  it("gets new entries, goes on after a restart where it was, and may be rotated", async () => {
    const file = join(makeTempDir(), "audit.jsonl");
    const lines = (path = file) =>
      existsSync(path)
        ? readFileSync(path, "utf8")
            .trim()
            .split("\n")
            .map((line) => JSON.parse(line) as Record<string, unknown>)
        : [];
    await start({ file });
    await addUser("Ann");
    await clock.advance(1_000);
    await expect.poll(() => createdIn(lines())).toEqual(["Ann"]);
    expect(lines()[0]).toMatchObject({
      actorName: "test",
      number: expect.any(Number),
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    await stream?.stop();
    await addUser("Bo");
    renameSync(file, `${file}.1`);
    await start({ file });
    await clock.advance(1_000);
    await expect.poll(() => createdIn(lines())).toEqual(["Bo"]);
    expect(createdIn(lines(`${file}.1`))).toEqual(["Ann"]);
  });

  it("is reported when it cannot be written", async () => {
    const opened = await start({ file: join(makeTempDir(), "missing", "audit.jsonl") });
    await addUser("Ann");
    await clock.advance(2_000);
    expect(opened.healthReasons()).toEqual([]);
    // The attempts take real time, so that the first one may not have failed yet.
    const healthAfterMinutes = async () => {
      await clock.advance(11 * 60_000);
      return opened.healthReasons();
    };
    await expect.poll(healthAfterMinutes).toMatchObject([{ level: "yellow", code: "audit-stream" }]);
  });
});

describe("the audit over syslog", () => {
  /** A syslog receiver; `frames` are what it understood. */
  async function receiver(
    name: string,
  ): Promise<{ port: number; authority: string; frames: string[]; sockets: TLSSocket[] }> {
    const folder = makeTempDir();
    makeKey(folder, name);
    const [key, cert] = ["key", "crt"].map((end) => readFileSync(join(folder, `${name}.${end}`), "utf8"));
    const found = { frames: [] as string[], sockets: [] as TLSSocket[] };
    const server = createServer({ key, cert }, (socket) => {
      found.sockets.push(socket);
      let rest = Buffer.alloc(0);
      socket.on("error", () => undefined);
      socket.on("data", (part: Buffer) => {
        rest = Buffer.concat([rest, part]);
        for (;;) {
          const space = rest.indexOf(0x20);
          const length = Number(rest.toString("latin1", 0, Math.max(0, space)));
          if (space < 1 || rest.length < space + 1 + length) return;
          found.frames.push(rest.toString("utf8", space + 1, space + 1 + length));
          rest = rest.subarray(space + 1 + length);
        }
      });
    });
    server.on("tlsClientError", () => undefined);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
    return { ...found, port: (server.address() as AddressInfo).port, authority: cert ?? "" };
  }

  const bodyOf = (frame: string) => JSON.parse(frame.slice(frame.indexOf("\uFEFF") + 1)) as Record<string, unknown>;

  it("arrives in frames over TLS, and again what may have been lost with a connection", async () => {
    const { port, authority, frames, sockets } = await receiver("localhost");
    await start({ port, authority });
    await expect.poll(() => sockets.length).toBe(1);
    await addUser("Ann");
    await expect
      .poll(async () => {
        await clock.advance(1_000);
        return createdIn(frames.map(bodyOf));
      })
      .toEqual(["Ann"]);
    expect(frames[0]).toMatch(/^<109>1 20\d\d-\d\d-\d\dT[\d:.]+Z belltower carillon - create - \uFEFF\{"/);
    sockets[0]?.destroy();
    await addUser("Bo");
    await expect
      .poll(async () => {
        await clock.advance(1_000);
        return createdIn(frames.map(bodyOf));
      })
      .toEqual(["Ann", "Ann", "Bo"]);
  });

  it("does not go to a server with another certificate", async () => {
    const { port, frames, sockets } = await receiver("localhost");
    const { authority } = await receiver("localhost");
    await start({ port, authority });
    await addUser("Ann");
    await clock.advance(60_000);
    expect([frames, sockets]).toEqual([[], []]);
  });

  it("has messages that every receiver takes", () => {
    const entry = { number: 7, at: "2026-01-01T00:00:00.000Z", op: "update", id: "x", hash: "h", details: null };
    const frame = (more: object) => syslogFrame({ ...entry, ...more }, "host\n<1>").toString("utf8");
    const long = frame({ before: { name: "x".repeat(9_000) }, after: {} });
    expect(long).toMatch(/^\d+ <109>1 \S+ host<1> carillon - update - /);
    expect(long.length).toBeLessThan(8_300);
    expect(bodyOf(long)).toMatchObject({ number: 7, leftOut: ["before", "after"] });
    expect(bodyOf(frame({ details: "y".repeat(20_000) }))).toMatchObject({ number: 7, leftOut: ["everything else"] });
    // A text in an entry starts no second message.
    expect(frame({ details: "a\n<8>1 forged" }).split("\n")).toHaveLength(1);
  });
});
