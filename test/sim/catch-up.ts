import { type Command, type Frame, LIMITS, type Outcome } from "../../src/replication/frames.ts";
import { replicatedTypes } from "../../src/replication/replicated-types.ts";
import { createCloudMachine } from "./cloud-machine.ts";
import { createDice } from "./dice.ts";
import { noFigures } from "./figures.ts";
import type { Disk } from "./machine.ts";
import { createMemoryBlobs } from "./memory-blobs.ts";
import { createNetwork } from "./network.ts";
import { createOracle } from "./oracle.ts";
import { CATALOGUE } from "./resources.ts";
import { createSiteMachine } from "./site-machine.ts";
import { createVirtualTime } from "./virtual-time.ts";

/** How much is changed while an appliance is away. */
export interface Absence {
  rows: number;
  changes: number;
  /** How long it is away, ms. */
  awayMs: number;
}

/** What came of it. */
export interface CatchUp {
  /** Rows that were sent once it was back, and how many of them more than once. */
  sent: number;
  sentAgain: number;
  /** What became of the evacuation that was ordered while it was away, and how often it sounded. */
  stale: Outcome | null;
  staleSounded: number;
  /** From an emergency that was issued while rows were coming to its sound, simulated ms. */
  emergencyMs: number | null;
  isEqual: boolean;
  violation: string | null;
  /** Time that the machine took for catching up, ms. */
  tookMs: number;
}

/** An appliance comes back after long, in which rows were changed again and again; pages and windows are the product's. */
export async function catchUp(
  { rows, changes, awayMs }: Absence,
  makeDisk: () => Disk,
  clock: () => number,
): Promise<CatchUp> {
  const dice = createDice(1);
  const time = createVirtualTime();
  const types = replicatedTypes(CATALOGUE);
  const figures = noFigures();
  const found: CatchUp = {
    ...{ sent: 0, sentAgain: 0, stale: null, staleSounded: 0 },
    ...{ emergencyMs: null, isEqual: false, violation: null, tookMs: 0 },
  };
  const violated = (error: unknown): void => {
    found.violation ??= String(error);
  };
  const oracle = createOracle(time.now, violated);
  const shared = { time, dice, types, limits: LIMITS, oracle, figures, violated };
  const seen = new Map<string, number>();
  let isBack = false;
  const watch = (frame: Frame): void => {
    if (!isBack || frame.t !== "rows" || frame.feed !== "down.bulk") return;
    for (const [, type, id] of frame.rows) seen.set(`${type}/${id}`, (seen.get(`${type}/${id}`) ?? 0) + 1);
  };
  const network = createNetwork(time, dice, figures, violated);
  const blobs = createMemoryBlobs();
  const cloud = createCloudMachine({ ...shared, blobs, disk: makeDisk(), came() {}, crashed() {} });
  const site = createSiteMachine({
    ...{ ...shared, name: "site-a", blobs, disk: makeDisk(), lan: { isUp: false }, sites: [], crashed() {} },
    dial(self) {
      if (!network.isUp || !cloud.hub) return;
      network.connect((own, other) => {
        const send = (frame: Frame): void => {
          watch(frame);
          other.send(frame);
        };
        const end = cloud.accept({ ...other, send }, "site-a");
        self.attach(own);
        return { site: self.end(own), cloud: end ?? { frame: () => false, closed() {} } };
      });
    },
  });

  const ids = Array.from({ length: rows }, () => dice.id());
  const change = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done += 200) {
      const some = Array.from({ length: Math.min(200, count - done) }, (_, at) => {
        const id = ids[(done + at) % rows] as string;
        return { type: "people", id, body: { id, note: `n${dice.below(1e9)}` }, scope: null, at: time.now() };
      });
      void cloud.hub?.publish(some).catch(violated);
      await time.run(time.now() + 10);
    }
  };
  const evacuate = (cid: string): void => {
    const of = { kind: "broadcast", class: "emergency", rank: 0, term: 0, ref: null, body: {} } as const;
    const command: Command = { cid, notAfter: time.now() + 900_000, ...of };
    void cloud.hub?.command([{ endpoint: "site-a", command }]).catch(violated);
  };
  const isEqual = (): boolean => (site.watched.link?.applied ?? 0) > 0 && site.watched.link?.applied === oracle.head;

  void cloud.boot().catch(violated);
  site.boot();
  await time.run(time.now() + 5_000);
  await change(rows);
  await time.run(time.now() + 30_000);
  network.isUp = false;
  network.cut();
  await time.run(time.now() + 60_000);
  evacuate("stale");
  await change(changes);
  await time.run(time.now() + awayMs);

  isBack = true;
  const began = clock();
  network.isUp = true;
  while (seen.size === 0 && !found.violation) await time.run(time.now() + 10);
  const issuedAt = time.now();
  evacuate("fresh");
  for (let turn = 0; turn < 100_000 && !isEqual() && !found.violation; turn += 1) await time.run(time.now() + 10);
  found.tookMs = Math.round(clock() - began);
  await time.run(time.now() + 10_000);
  const [sounded] = site.watched.sounded.get("fresh") ?? [];
  const outcomes = cloud.hub?.outcomes("stale");
  await time.run(time.now() + 100);
  found.stale = (await outcomes)?.["site-a"] ?? null;
  found.staleSounded = site.watched.sounded.get("stale")?.length ?? 0;
  found.emergencyMs = sounded === undefined ? null : Math.round(sounded - issuedAt);
  found.sent = [...seen.values()].reduce((sum, times) => sum + times, 0);
  found.sentAgain = [...seen.values()].filter((times) => times > 1).length;
  found.isEqual = isEqual();
  for (const { disk } of [site.machine, cloud.machine]) disk.close();
  return found;
}
