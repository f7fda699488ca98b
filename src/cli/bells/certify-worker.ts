import { parentPort, workerData } from "node:worker_threads";
import type { CompiledSchedule } from "../../bells/rings.ts";
import { compileSchedule } from "../../bells/rings.ts";
import type { Timetable } from "../../bells/timetables.ts";
import { createZones } from "../../bells/zones.ts";
import type { Share } from "./certify.ts";
import { simulate } from "./simulation.ts";
import { stressSchedules } from "./stress-fixture.ts";

const share = workerData as Share;
const certificate = await simulate({ ...share, schedules: schedulesOf(share) });
parentPort?.postMessage(certificate);

/** The schedules of this share, named by their places in it. */
function schedulesOf({ fixture, timetables, part, parts }: Share): CompiledSchedule[] {
  const all = fixture ? stressSchedules(fixture.count, fixture.year, fixture.seed) : compiled(timetables);
  return all
    .filter((_, at) => at % parts === part)
    .map((schedule, at) => ({ ...schedule, schedule: { ...schedule.schedule, id: String(at) } }));
}

function compiled(timetables: readonly Timetable[]): CompiledSchedule[] {
  const zones = createZones();
  return timetables.map(({ schedule, ringLists, exceptions }) =>
    compileSchedule(schedule, ringLists, exceptions, { zones }),
  );
}
