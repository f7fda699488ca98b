import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deviceGroupHooks } from "../../../src/devices/device-group-hooks.ts";
import { createGroupMemberships, type GroupMemberships } from "../../../src/devices/group-memberships.ts";
import { compileStoredGroups, scanDevices } from "../../../src/devices/group-scan.ts";
import { DEVICE_GROUPS } from "../../../src/devices/stored-groups.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { createEvents, type Events } from "../../../src/lib/events.ts";
import { silentLog } from "../../../src/lib/log.ts";
import deviceGroups from "../../../src/resources/devices/device-groups.ts";
import devices from "../../../src/resources/devices/devices.ts";
import endpoints from "../../../src/resources/devices/endpoints.ts";
import extensions from "../../../src/resources/devices/extensions.ts";
import { createCatalogue } from "../../../src/schema/catalogue.ts";
import { fullScope } from "../../../src/store/full-scope.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { ActorContext, ResourceHooks, Store } from "../../../src/store/store.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../../src/wiring/load-declarations.ts";
import { createProfilingClock } from "../../support/event-loop-profiler.ts";
import { atMost, type BenchmarkFigure, type BenchmarkRow, median } from "../benchmark-row.ts";

const DEVICES = 20_000;
const GROUPS = 3_500;
const ROUNDS = 15;
/** Groups of the plain loop, whose time is reckoned up to all. */
const LOOPED = 50;

const by: ActorContext = {
  actor: { kind: "system", userId: null, name: "bench", address: null },
  scope: fullScope(() => null),
};

/** Row 12: the devices of 3,500 groups, of which a message may name as many as it likes. */
export const groupMembers: BenchmarkRow = {
  number: 12,
  name: "devices of groups",
  async measure(say) {
    const dataDir = mkdtempSync(join(tmpdir(), "carillon-bench-"));
    const { store, events, ids } = await openScene(dataDir);
    say(`${DEVICES} devices, ${GROUPS} groups`);
    try {
      return await figuresOf(store, events, ids, say);
    } finally {
      await store.close();
      rmSync(dataDir, { recursive: true, force: true });
    }
  },
};

async function figuresOf(
  store: Store,
  events: Events,
  ids: string[],
  say: (words: string) => void,
): Promise<BenchmarkFigure[]> {
  const loop = await plainLoop(store, ids);
  say(`a plain loop over all would take ${Math.round(loop)} ms`);
  const { clock, stretches } = createProfilingClock();
  const memberships = createGroupMemberships({ reader: store, clock, events, source: DEVICE_GROUPS, onError: fail });
  const coldMs = await timed(() => memberships.members(ids));
  const longest = Math.max(...stretches);
  say(`cold: ${Math.round(coldMs)} ms in ${stretches.length} slices, the longest ${longest.toFixed(1)} ms`);
  const [all, one, after] = [[], [], []] as [number[], number[], number[]];
  for (let round = 0; round < ROUNDS; round++) {
    all.push(await timed(() => memberships.members(ids)));
    one.push(await timed(() => memberships.members([ids[round] as string])));
    after.push(await afterAChange(store, memberships, ids, round));
  }
  memberships.stop();
  const unit = "ms";
  const goal = "the goal";
  return [
    atMost({ what: "all groups, warm", ours: median(all), limit: 20, against: goal, unit }, 1),
    atMost({ what: "all groups, warm", ours: median(all), limit: loop, against: LOOP, unit }, 1),
    atMost({ what: "one group, warm", ours: median(one), limit: 20, against: goal, unit }, 1),
    atMost(
      { what: "all groups, right after a device changed", ours: median(after), limit: 20, against: goal, unit },
      1,
    ),
    atMost({ what: "all groups, cold", ours: coldMs, limit: loop, against: LOOP, unit }, 1.5),
    atMost({ what: "cold, longest slice (processor time)", ours: longest, limit: 10, against: goal, unit }, 1),
  ];
}

const LOOP = "a plain loop over devices and groups";

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

async function afterAChange(
  store: Store,
  memberships: GroupMemberships,
  ids: string[],
  round: number,
): Promise<number> {
  const id = store.one<{ id: string }>("SELECT id FROM devices WHERE pk = ?", 100 + round)?.id ?? "";
  await store.update(devices, id, { attributes: { Floor: String(round) } }, by);
  return timed(() => memberships.members(ids));
}

/** The same groups over the same devices, nothing remembered and nobody let in between; ms for all groups. */
async function plainLoop(store: Store, ids: string[]): Promise<number> {
  const asked = ids.filter((_, at) => at % (GROUPS / LOOPED) === 0);
  const clock = { ...systemClock, monotonicMs: () => 0 };
  const groups = compileStoredGroups(store, asked);
  let members = 0;
  const took = await timed(() =>
    scanDevices({ reader: store, clock }, (device) => {
      for (const group of groups) if (group.contains(device)) members++;
    }),
  );
  if (members === 0) throw new Error("no group has a device");
  return took * (GROUPS / LOOPED);
}

async function openScene(dataDir: string): Promise<{ store: Store; events: Events; ids: string[] }> {
  const events = createEvents(fail);
  const noCounts = { of: () => new Map(), idle: async () => undefined };
  const store = openStore({
    ...{ dataDir, clock: systemClock, events, log: silentLog, onFatal: fail },
    catalogue: createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS])),
    hooks: { [deviceGroups.name]: deviceGroupHooks(noCounts) as unknown as ResourceHooks },
  });
  const extension = await store.create(extensions, { name: "onprem" }, by);
  const endpoint = await store.create(endpoints, { extensionId: extension.id }, by);
  await store.write((tx) => {
    tx.run(
      `WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < ?)
       INSERT INTO devices (id, created_at, updated_at, extension_pk, endpoint_pk, device_identifier, icop_id, description,
         type, defunct, attributes)
       SELECT uuid7(), 1, 1, ?, ?, printf('SEP%012X', x), printf('SEP%012X', x), 'Room ' || x, 'phones', 0,
         json_object('Name', 'Phone ' || x, 'Floor', x % 40, 'CallManagerDevicePool', 'Pool ' || (x % 175)) FROM n`,
      ...[DEVICES, extension.pk, endpoint.pk],
    );
  });
  return { store, events, ids: await makeGroups(store) };
}

/** Rooms by pool, by floor, by number and by pattern; one in ten is based on the one before it. */
async function makeGroups(store: Store): Promise<string[]> {
  const ids: string[] = [];
  const filter = (attribute: string, comparison: string, value: string) => ({
    ...{ attribute, comparison, value, complement: false, caseSensitive: false },
  });
  for (let n = 0; n < GROUPS; n++) {
    const filters = [
      filter("CallManagerDevicePool", "EQUALS", `pool ${n % 175}`),
      n % 7 === 0 ? filter("Description", "MATCHES_REGEX", `^room ${n % 10}\\d+$`) : filter("Floor", "EQUALS", "7"),
    ];
    const bases = n % 10 === 9 ? { baseDeviceGroupIds: [ids.at(-1) as string] } : {};
    const input = { name: `G${n}`, filterType: n % 2 === 0 ? "OR" : "AND", filters, ...bases };
    ids.push((await store.create(deviceGroups, input, by)).id);
  }
  return ids;
}

function fail(error: unknown): never {
  throw error;
}
