import { type Frame, SYNC_LIMITS, type SyncCommand } from "../../src/sync/protocol/frames.ts";
import { readReplicatedTypes } from "../../src/sync/protocol/replicated-types.ts";
import { type CloudMachine, createCloudMachine } from "./cloud-machine.ts";
import type { Disk } from "./machine.ts";
import { createMemoryBlobStore } from "./memory-blob-store.ts";
import { createNetwork, type Network } from "./network.ts";
import { createOracle, type IssuedByTest, type Oracle } from "./oracle.ts";
import { CATALOGUE } from "./resources.ts";
import { emptyStatistics, type RunStatistics } from "./run-statistics.ts";
import { createRandomSource, type RandomSource } from "./seeded-random.ts";
import { createSiteMachine, type SiteMachine } from "./site-machine.ts";
import { createVirtualTime, type VirtualTime } from "./virtual-time.ts";

/** One appliance and a cloud, with the pages and windows of the product, for a story that is told step by step. */
export interface TwoNodeFixture {
  time: VirtualTime;
  dice: RandomSource;
  cloud: CloudMachine;
  site: SiteMachine;
  network: Network;
  oracle: Oracle;
  figures: RunStatistics;
  issued: Map<string, IssuedByTest>;
  /** The first promise that was broken. */
  violation(): string | null;
  /** Lets so much time pass, ms. */
  pass(ms: number): Promise<void>;
  /** Changes so many rows of these, each in turn, 200 at a time. */
  change(ids: readonly string[], count: number): Promise<void>;
  order(cid: string, cls: "emergency" | "routine", lastsMs: number): void;
  /** Whether the appliance has applied all that the cloud has. */
  isEqual(): boolean;
  close(): void;
}

/** Sets it up and connects the two. `watch` sees each frame that goes down. */
export async function createTwoNodeFixture(
  makeDisk: () => Disk,
  watch: (frame: Frame) => void = () => undefined,
): Promise<TwoNodeFixture> {
  const dice = createRandomSource(1);
  const time = createVirtualTime();
  const figures = emptyStatistics();
  let violation: string | null = null;
  const violated = (error: unknown): void => {
    violation ??= String(error);
  };
  const oracle = createOracle(time.now, violated);
  const shared = { time, dice, types: readReplicatedTypes(CATALOGUE), limits: SYNC_LIMITS, oracle, figures, violated };
  const network = createNetwork(time, dice, figures, violated);
  const blobs = createMemoryBlobStore();
  const cut = (): void => network.cut();
  const cloud = createCloudMachine({ ...shared, blobs, disk: makeDisk(), came() {}, crashed: cut });
  const site = createSiteMachine({
    ...{ ...shared, name: "site-a", blobs, disk: makeDisk(), lan: { isUp: false }, sites: [], crashed: cut },
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
  const issued = new Map<string, IssuedByTest>();
  const pass = (ms: number): Promise<void> => time.run(time.now() + ms);
  void cloud.boot().catch(violated);
  site.boot();
  await pass(5_000);

  return {
    ...{ time, dice, cloud, site, network, oracle, figures, issued, pass },
    violation: () => violation,
    async change(ids, count) {
      for (let done = 0; done < count; done += 200) {
        const some = Array.from({ length: Math.min(200, count - done) }, (_, at) => {
          const id = ids[(done + at) % ids.length] as string;
          return { type: "people", id, body: { id, note: `n${dice.below(1e9)}` }, scope: null, at: time.now() };
        });
        void cloud.hub?.publish(some).catch(violated);
        await pass(10);
      }
    },
    order(cid, cls, lastsMs) {
      const of = { kind: "broadcast", class: cls, rank: 0, term: 0, ref: null, body: {} } as const;
      const command: SyncCommand = { cid, notAfter: time.now() + lastsMs, ...of };
      issued.set(cid, { command, group: [], cancelledAt: null });
      void cloud.hub?.issue([{ endpoint: "site-a", command }]).catch(violated);
    },
    isEqual: () => (site.watched.link?.applied ?? 0) > 0 && site.watched.link?.applied === oracle.head,
    close() {
      for (const { disk } of [site.machine, cloud.machine]) disk.close();
    },
  };
}
