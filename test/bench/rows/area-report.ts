import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { areaHooks } from "../../../src/areas/area-hooks.ts";
import { type Areas, createAreas } from "../../../src/areas/areas.ts";
import { AREA_TABLES } from "../../../src/areas/schema.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createEvents } from "../../../src/lib/events.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { NOTIFICATION_TABLES } from "../../../src/notifications/schema.ts";
import areasOfInterest from "../../../src/resources/areas/areas-of-interest.ts";
import boundaryTriggers from "../../../src/resources/areas/boundary-triggers.ts";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import { fullScope } from "../../../src/store/full-scope.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { ActorContext, ResourceHooks, Store } from "../../../src/store/store.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../../src/wiring/load-declarations.ts";
import { atMost, type BenchmarkFigure, type BenchmarkRow, median } from "../benchmark-row.ts";

const DEVICES = 100_000;
const AREAS = 20;
const TRIGGERS = 200;
const ROUNDS = 5;
const REPORTS = 2_000;
/** Reports that are under way at once, as they come from many phones. */
const AT_ONCE = 32;

const by: ActorContext = {
  actor: { kind: "system", userId: null, name: "bench", address: null },
  scope: fullScope(() => null),
};

/** Row 5: one report of a position where 100,000 devices have reported theirs. */
export const areaReport: BenchmarkRow = {
  number: 5,
  name: "report of a position",
  async measure(say) {
    const dataDir = mkdtempSync(join(tmpdir(), "carillon-bench-"));
    const { store, areas, devices } = await openScene(dataDir);
    say(`${DEVICES} positions, ${AREAS} areas, ${TRIGGERS} triggers`);
    const [ours, loop]: [number[], number[]] = [[], []];
    try {
      for (let round = 0; round < ROUNDS; round++) {
        loop.push(plainLoop(round));
        ours.push(await reportAll(areas, devices, round));
        say(`round ${round + 1} of ${ROUNDS}`);
      }
    } finally {
      await areas.stop();
      await store.close();
      rmSync(dataDir, { recursive: true, force: true });
    }
    return figuresOf(median(ours), median(loop));
  },
};

function figuresOf(ours: number, loop: number): BenchmarkFigure[] {
  const unit = "µs a report";
  const what = `${AT_ONCE} at once, on the disk when answered`;
  return [
    atMost({ what, ours, limit: 1_000, against: "the goal", unit }, 1),
    atMost({ what, ours, limit: loop, against: "a plain loop over the areas in memory, nothing kept", unit }, 10_000),
  ];
}

interface Scene {
  store: Store;
  areas: Areas;
  devices: { id: string; user: string }[];
}

async function openScene(dataDir: string): Promise<Scene> {
  const events = createEvents((error) => {
    throw error;
  });
  const store = openStore({
    ...{ dataDir, clock: systemClock, events, log: silentLog },
    catalogue: createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS])),
    hooks: { [areasOfInterest.name]: areaHooks as unknown as ResourceHooks },
    tables: [...NOTIFICATION_TABLES, ...AREA_TABLES],
    onFatal: (error) => {
      throw error;
    },
  });
  const ids: string[] = [];
  for (let n = 0; n < AREAS; n++) ids.push(await makeArea(store, n));
  for (let n = 0; n < TRIGGERS; n++) await makeTrigger(store, ids[n % AREAS] as string);
  await fillDevices(store);
  const notificationService = { send: () => Promise.reject(new Error("nothing is sent")) };
  const areas = createAreas({ store, clock: systemClock, events, log: silentLog, notificationService, by });
  areas.start();
  const devices = store.all<{ id: string; user: string }>(
    "SELECT d.id, u.id AS user FROM user_devices d JOIN users u ON u.pk = d.user_pk WHERE d.pk % 10 = 0",
  );
  return { store, areas, devices };
}

async function makeArea(store: Store, n: number): Promise<string> {
  const geometryValue = {
    geometry: { coordinates: [n / 10, 50] },
    properties: { radiusInM: 2_000 },
  };
  return (await store.create(areasOfInterest, { name: `A${n}`, geometryType: "circle", geometryValue }, by)).id;
}

async function makeTrigger(store: Store, areaOfInterestId: string): Promise<void> {
  const input = { name: "T", action: "both", perUserThrottlingInSecs: 3_600, notificationAction: "send-to-none" };
  await store.create(boundaryTriggers, { areaOfInterestId, ...input }, by);
}

async function fillDevices(store: Store): Promise<void> {
  const numbers = `WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ${DEVICES})`;
  await store.write((tx) => {
    tx.run(`INSERT INTO users (id, created_at, updated_at, name)
      ${numbers} SELECT uuid7(), 0, 0, 'U' || n FROM c`);
    tx.run(`INSERT INTO user_devices (id, created_at, updated_at, user_pk, type, disabled, verified)
      SELECT uuid7(), 0, 0, pk, 'Android', 0, 0 FROM users`);
    tx.run(`INSERT INTO area_positions (device, at, received, accuracy_m, longitude, latitude)
      SELECT pk, 0, 0, 5, (pk % 200) / 100.0, 50.5 FROM user_devices`);
  });
}

/** One in twenty reports crosses an edge. */
function placeOf(n: number, round: number): { longitude: number; latitude: number } {
  const isIn = n % 20 === 0 && round % 2 === 0;
  return { longitude: (n % AREAS) / 10, latitude: isIn ? 50 : 50.5 };
}

async function reportAll(areas: Areas, devices: Scene["devices"], round: number): Promise<number> {
  const began = performance.now();
  let next = 0;
  const walker = async (): Promise<void> => {
    for (let n = next++; n < REPORTS; n = next++) {
      const { id, user } = devices[n] as Scene["devices"][number];
      await areas.reportPosition(user, id, { ...placeOf(n, round), accuracyM: 5, at: null });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, walker));
  return ((performance.now() - began) / REPORTS) * 1_000;
}

/** The least that must be reckoned: the distance to each area. */
function plainLoop(round: number): number {
  const began = performance.now();
  let inside = 0;
  for (let n = 0; n < REPORTS; n++) {
    const { longitude, latitude } = placeOf(n, round);
    for (let area = 0; area < AREAS; area++) {
      const [a, b] = [(latitude * Math.PI) / 180, (50 * Math.PI) / 180];
      const h =
        Math.sin((a - b) / 2) ** 2 +
        Math.cos(a) * Math.cos(b) * Math.sin(((longitude - area / 10) * Math.PI) / 360) ** 2;
      if (2 * 6_371_008.8 * Math.asin(Math.sqrt(h)) < 2_000) inside++;
    }
  }
  if (inside < 0) throw new Error("never");
  return ((performance.now() - began) / REPORTS) * 1_000;
}
