import { afterEach, beforeEach, expect, it } from "vitest";
import { newId } from "../../../src/lib/ids.ts";
import { createHubSync, type HubSync } from "../../../src/sync/hub/hub-sync.ts";
import { type Frame, SYNC_LIMITS, type SyncCommand, type SyncHello } from "../../../src/sync/protocol/frames.ts";
import { readReplicatedTypes } from "../../../src/sync/protocol/replicated-types.ts";
import { createMemoryBlobStore } from "../../sim/memory-blob-store.ts";
import { createMemoryStore } from "../../sim/memory-store.ts";
import { CATALOGUE } from "../../sim/resources.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";
import { waitForAssertions } from "../../support/timeouts.ts";

const USEFUL_MS = 900_000;
const SITE = "site";

let clock: FakeClock;
let hub: HubSync;
let told: string[];
let sent: Frame[];

const fail = (error: unknown): never => {
  throw error;
};
beforeEach(async () => {
  clock = createFakeClock();
  const cloud = createMemoryStore(CATALOGUE);
  [told, sent] = [[], []];
  hub = createHubSync({
    ...{ clock, limits: SYNC_LIMITS, newId, types: readReplicatedTypes(CATALOGUE), blobs: createMemoryBlobStore() },
    ...{ onFault: fail, onProtocolViolation: fail },
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
  const hello: SyncHello = {
    ...{ t: "hello", v: 1, endpoint: SITE, inc, oseq: { bulk: 0, hot: 0 } },
    ...{ ...nothing, credit: SYNC_LIMITS.credit },
  };
  link.frame(hello);
  await waitForAssertions(() => expect(sent.length).toBeGreaterThan(known));
  return link;
}

async function issue(cid: string, kind: "emergency" | "routine"): Promise<void> {
  const common = { kind: "broadcast", rank: 0, term: 0, ref: null, body: {} } as const;
  const command: SyncCommand = { ...common, cid, class: kind, notAfter: clock.now() + USEFUL_MS };
  await hub.issue([{ endpoint: SITE, command }]);
}

const commands = (): string[] => sent.flatMap((frame) => (frame.t === "cmd" ? [frame.command.cid] : []));

it("reports a command sent to a cut line as expired when the appliance returns too late", async () => {
  const link = await connect(1);
  await issue("stale", "emergency");
  await waitForAssertions(() => expect(commands()).toEqual(["stale"]));
  link.closed();
  clock.advanceSync(USEFUL_MS + 1);
  // It may have arrived: that is for the appliance to say, as long as it is away.
  expect(told).toEqual([]);
  await connect(1);
  await waitForAssertions(() => expect(told).toEqual(["site stale expired"]));
  expect(commands()).toEqual(["stale"]);
});

it("reports an unsent command as expired while the appliance is away", async () => {
  (await connect(1)).closed();
  await issue("stale", "emergency");
  clock.advanceSync(USEFUL_MS);
  await waitForAssertions(() => {
    // It is looked through every few seconds, and not while it is being looked through.
    clock.advanceSync(5_000);
    expect(told).toEqual(["site stale expired"]);
  });
});

it("reports a routine command as unknown when an older copy of the appliance may have played it", async () => {
  const link = await connect(1);
  await issue("said", "routine");
  await waitForAssertions(() => expect(commands()).toEqual(["said"]));
  link.closed();
  await connect(2);
  await waitForAssertions(() => expect(told).toEqual(["site said unknown"]));
});
