import { parentPort, workerData } from "node:worker_threads";
import type { CompiledSchedule } from "../../bells/schedule-expansion.ts";
import { compileSchedule } from "../../bells/schedule-expansion.ts";
import type { Timetable } from "../../bells/timetables.ts";
import { createTimeZones } from "../../time-zones/time-zones.ts";
import { machineZoneData } from "../../time-zones/zone-data.ts";
import type { SimulationShare } from "./run-share.ts";
import { simulateBells } from "./simulation.ts";
import { stressSchedules } from "./stress-schedules.ts";

const share = workerData as SimulationShare;
const certificate = await simulateBells({ ...share, schedules: schedulesOf(share) });
parentPort?.postMessage(certificate);

/** The schedules of this share, with their index in it as id. */
function schedulesOf({ fixture, timetables, part, parts }: SimulationShare): CompiledSchedule[] {
  const all = fixture ? stressSchedules(fixture.count, fixture.year, fixture.seed) : compiled(timetables);
  return all
    .filter((_, index) => index % parts === part)
    .map((schedule, index) => ({ ...schedule, schedule: { ...schedule.schedule, id: String(index) } }));
}

function compiled(timetables: readonly Timetable[]): CompiledSchedule[] {
  const zones = createTimeZones(machineZoneData());
  return timetables.map(({ schedule, ringLists, exceptions }) =>
    compileSchedule(schedule, ringLists, exceptions, { zones }),
  );
}
