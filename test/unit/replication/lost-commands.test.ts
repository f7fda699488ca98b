import { afterEach, beforeEach, expect, it } from "vitest";
import { newId } from "../../../src/base/ids.ts";
import { type Command, type Frame, type Hello, LIMITS } from "../../../src/replication/frames.ts";
import { createHub, type Hub } from "../../../src/replication/hub/hub.ts";
import { replicatedTypes } from "../../../src/replication/replicated-types.ts";
import { createMemoryBlobs } from "../../sim/memory-blobs.ts";
import { createMemoryStore } from "../../sim/memory-store.ts";
import { CATALOGUE } from "../../sim/resources.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";
import { until } from "../../support/patience.ts";

const USEFUL_MS = 900_000;
const SITE = "site";

let clock: FakeClock;
let hub: Hub;
let told: string[];
let sent: Frame[];

const fail = (error: unknown): never => {
  throw error;
};
beforeEach(async () => {
  clock = createFakeClock();
  const cloud = createMemoryStore(CATALOGUE);
  [told, sent] = [[], []];
  hub = createHub({
    ...{ clock, limits: LIMITS, newId, types: replicatedTypes(CATALOGUE), blobs: createMemoryBlobs() },
    ...{ onFault: fail, onBadPeer: fail },
    store: { transact: async (work) => cloud.perform(work), read: async (work) => cloud.perform(work) },
    onOutcome: (endpoint, cid, of) => void told.push(`${endpoint} ${cid} ${of.outcome}`),
  });
  await hub.start();
});
afterEach(() => hub.stop());

/** A connection of the appliance, which has taken nothing so far. */
async function connect(inc: number): Promise<{ closed(): void }> {
  const known = sent.length;
  const wire = { send: (frame: Frame) => void sent.push(frame), close: () => undefined };
  const link = hub.connected(wire, SITE);
  const nothing = { epoch: null, recv: 0, applied: 0, snap: null, cmdHw: 0, decided: 0, fresh: false, types: [] };
  const hello: Hello = {
    ...{ t: "hello", v: 1, endpoint: SITE, inc, oseq: { bulk: 0, hot: 0 } },
    ...{ ...nothing, credit: LIMITS.credit },
  };
  link.frame(hello);
  await until(() => expect(sent.length).toBeGreaterThan(known));
  return link;
}

async function issue(cid: string, kind: "emergency" | "routine"): Promise<void> {
  const common = { kind: "broadcast", rank: 0, term: 0, ref: null, body: {} } as const;
  const command: Command = { ...common, cid, class: kind, notAfter: clock.now() + USEFUL_MS };
  await hub.command([{ endpoint: SITE, command }]);
}

const commands = (): string[] => sent.flatMap((frame) => (frame.t === "cmd" ? [frame.command.cid] : []));

it("a command that went to a line that was cut is told as expired when the appliance is back too late", async () => {
  const link = await connect(1);
  await issue("stale", "emergency");
  await until(() => expect(commands()).toEqual(["stale"]));
  link.closed();
  clock.tick(USEFUL_MS + 1);
  // It may have arrived: that is for the appliance to say, as long as it is away.
  expect(told).toEqual([]);
  await connect(1);
  await until(() => expect(told).toEqual(["site stale expired"]));
  expect(commands()).toEqual(["stale"]);
});

it("a command that was never sent is told as expired though the appliance stays away", async () => {
  (await connect(1)).closed();
  await issue("stale", "emergency");
  clock.tick(USEFUL_MS);
  await until(() => {
    // It is looked through every few seconds, and not while it is being looked through.
    clock.tick(5_000);
    expect(told).toEqual(["site stale expired"]);
  });
});

it("an announcement that an older copy of the appliance may have played is told as unknown", async () => {
  const link = await connect(1);
  await issue("said", "routine");
  await until(() => expect(commands()).toEqual(["said"]));
  link.closed();
  await connect(2);
  await until(() => expect(told).toEqual(["site said unknown"]));
});
