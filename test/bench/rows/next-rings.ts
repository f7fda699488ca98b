import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBellPlanner } from "../../../src/bells/bells.ts";
import { BELL_TABLES } from "../../../src/bells/schema.ts";
import { createLocalTimeContext } from "../../../src/bells/timetables.ts";
import { listUpcomingRings } from "../../../src/bells/upcoming-rings.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createEvents } from "../../../src/lib/events.ts";
import { silentLog } from "../../../src/lib/log.ts";
import bellSchedules from "../../../src/resources/bells/bell-schedules.ts";
import ringLists from "../../../src/resources/bells/ring-lists.ts";
import { TIME_ZONES } from "../../../src/resources/bells/time-zones.ts";
import domains from "../../../src/resources/domains/domains.ts";
import messageTemplates from "../../../src/resources/messages/message-templates.ts";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import type { AnyResource } from "../../../src/schema/resource.ts";
import { fullScope } from "../../../src/store/full-scope.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { ActorContext, Store } from "../../../src/store/store.ts";
import { machineZoneData } from "../../../src/time-zones/zone-data.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../../src/wiring/load-declarations.ts";

/** How long the next 100 bells take to be told, in ms. */
export interface NextRingsFigures {
  /** Of a database that was opened just before. */
  first: number;
  /** Each after that. */
  further: number[];
}

const WANTED = 100;
const FURTHER = 200;
const LISTS = 40;
const MADE_AT_ONCE = 100;
const ROUNDS = 5;

/** Plans so many schedules of seven rings a day over all zones, then opens the database anew, several times. */
export async function measureNextRings(schedules: number): Promise<NextRingsFigures[]> {
  const dataDir = mkdtempSync(join(tmpdir(), "carillon-bench-"));
  const declarations = await loadDeclarations([BUILT_IN_DECLARATIONS]);
  let rootId: string | null = null;
  const by: ActorContext = {
    actor: { kind: "system", userId: null, name: "bench", address: null },
    scope: fullScope(() => rootId),
  };
  const open = (): Store =>
    openStore({
      ...{ dataDir, catalogue: createCatalogue(declarations), tables: BELL_TABLES, clock: systemClock, log: silentLog },
      ...{ events: createEvents(fail), onFatal: fail },
    });
  try {
    const store = open();
    rootId = (await store.create(domains, { name: "Root" }, by)).id;
    await fill(store, schedules, by);
    await store.close();
    const rounds: NextRingsFigures[] = [];
    for (let round = 0; round < ROUNDS; round++) rounds.push(await measure(open(), by));
    return rounds;
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function measure(store: Store, { scope }: ActorContext): Promise<NextRingsFigures> {
  const look = (): number => {
    const began = performance.now();
    const found = listUpcomingRings(store, scope, systemClock.now(), WANTED);
    const ms = performance.now() - began;
    if (found.length !== WANTED) throw new Error(`only ${found.length} bells`);
    return ms;
  };
  const times = { first: look(), further: Array.from({ length: FURTHER }, look) };
  await store.close();
  return times;
}

async function fill(store: Store, schedules: number, by: ActorContext): Promise<void> {
  const { id: messageTemplateId } = await store.create(messageTemplates, { name: "Bell", subject: "Bell" }, by);
  const two = (value: number): string => String(value).padStart(2, "0");
  const lists = await makeAll(store, ringLists, LISTS, by, (nth) => ({
    name: `List ${nth}`,
    // `id`: rings keep theirs where nobody else gives them one.
    entries: [8, 9, 10, 11, 12, 13, 14].map((hour) => {
      return {
        id: crypto.randomUUID(),
        time: `${two(hour)}:${two(nth)}:00`,
        messageTemplateId,
        deviceGroupIds: [],
        distributionListIds: [],
      };
    }),
  }));
  const day = (days: number): string => new Date(systemClock.now() + days * 86_400_000).toISOString().slice(0, 10);
  await makeAll(store, bellSchedules, schedules, by, (nth) => ({
    ...{ name: `School ${nth}`, numWeeks: 1, startDate: day(-30), endDate: day(300) },
    timeZone: TIME_ZONES[nth % TIME_ZONES.length],
    bellScheduleExceptions: [],
    bellScheduleEntries: [0, 1, 2, 3, 4, 5, 6].map((entryNum) => ({ entryNum, ringListId: lists[nth % LISTS] })),
    ringListIds: [lists[nth % LISTS]],
  }));
  const planner = createBellPlanner({
    store,
    clock: systemClock,
    times: createLocalTimeContext({ ownZone: () => "UTC", data: machineZoneData() }),
  });
  await store.write((tx) => planner.revalidate(tx));
  await planner.extendHorizon(new AbortController().signal);
}

async function makeAll(
  store: Store,
  resource: AnyResource,
  count: number,
  by: ActorContext,
  inputOf: (nth: number) => Record<string, unknown>,
): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    await store.write((tx) => {
      for (let n = 0; n < MADE_AT_ONCE && ids.length < count; n++) {
        const { ringListIds, ...input } = inputOf(ids.length);
        ids.push(tx.create(resource, input, by, (ringListIds ? { ringListIds } : {}) as never).id);
      }
    });
  }
  return ids;
}

function fail(error: unknown): never {
  throw error;
}
