import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApiClient } from "../../src/api-client/api-client.ts";
import { runInit, serveAppliance } from "../support/carillon-process.ts";
import { zipFile } from "../support/zip-file.ts";
import { type LoopStatistics, readLoopStatistics, startIdle, withLoopMonitor } from "./loop-monitor.ts";

/** One load of a roster: how long it took, and the event loop meanwhile. */
export interface RosterLoad {
  state: string;
  reason: string | null;
  seconds: number;
  pulse: LoopStatistics;
  /** Longest turn of each phase, ms. */
  phases: Record<string, number>;
  counts: Record<string, number>;
}

interface Run {
  id: string;
  state: string;
  phase: string | null;
  reason: string | null;
  endedAt: string | null;
  usersCreated: number;
  subscriptionsCreated: number;
  linesRead: number;
}

const CLASS_SIZE = 25;
const POLL_MS = 250;

/** Loads `people` people with two classes each, then the same roster once more. */
export async function loadRoster(people: number, say: (progress: string) => void) {
  const folder = await mkdtemp(join(tmpdir(), "carillon-roster-"));
  const [pulse, machinePulse] = [join(folder, "pulse.json"), join(folder, "machine.json")];
  const idle = await startIdle(machinePulse);
  try {
    const { token } = await runInit(join(folder, "data"));
    const daemon = await withLoopMonitor(pulse, () => serveAppliance(join(folder, "data")));
    try {
      const api = createApiClient(daemon.url, token);
      const { id } = await api.post<{ id: string }>("/load-definitions", { name: "School", type: "oneroster" });
      const bytes = new Blob([new Uint8Array(roster(people))], { type: "application/zip" });
      await api.upload(`/load-definitions/${id}/file`, bytes, "roster.zip");
      const load = async (): Promise<RosterLoad> => {
        daemon.child.kill("SIGUSR2");
        const began = Date.now();
        const phases: Record<string, number> = {};
        let run = await api.post<Run>(`/load-definitions/${id}/runs`, {});
        while (run.endedAt === null) {
          await new Promise((done) => setTimeout(done, POLL_MS));
          run = await api.get<Run>(`/load-definitions/${id}/runs/${run.id}`);
          const { turnMaxMs } = await readLoopStatistics(pulse);
          const phase = run.phase ?? "end";
          if (phases[phase] === undefined)
            say(
              `${phase}, ${Math.round((Date.now() - began) / 1_000)} s, longest turn so far ${Math.round(turnMaxMs)} ms`,
            );
          phases[phase] = Math.max(phases[phase] ?? 0, Math.round(turnMaxMs));
        }
        const { state, reason, usersCreated, subscriptionsCreated, linesRead } = run;
        return {
          ...{ state, reason, seconds: (Date.now() - began) / 1_000, phases },
          ...{ pulse: await readLoopStatistics(pulse), counts: { linesRead, usersCreated, subscriptionsCreated } },
        };
      };
      const [first, again] = [await load(), await load()];
      return { first, again, machineTurnMaxMs: (await readLoopStatistics(machinePulse)).turnMaxMs };
    } finally {
      await daemon.end("SIGTERM");
    }
  } finally {
    idle.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

function roster(people: number): Buffer {
  const numbers = Array.from({ length: people }, (_, at) => at);
  const classes = Math.ceil(people / CLASS_SIZE);
  const table = (head: string, lines: readonly string[]): string => `${[head, ...lines].join("\r\n")}\r\n`;
  return zipFile({
    "orgs.csv": table("sourcedId,status,dateLastModified,name,type", ["s1,,,North School,school"]),
    "classes.csv": table(
      "sourcedId,status,dateLastModified,title,classCode,schoolSourcedId,termSourcedIds",
      numbers.slice(0, classes).map((at) => `c${at},,,Class ${at},,s1,`),
    ),
    "users.csv": table(
      "sourcedId,status,dateLastModified,enabledUser,orgSourcedIds,role,username,givenName,familyName,email",
      numbers.map((at) => `u${at},,,true,s1,student,u${at},Person,N${at},person${at}@example.org`),
    ),
    "enrollments.csv": table(
      "sourcedId,status,dateLastModified,classSourcedId,userSourcedId,role,beginDate,endDate",
      numbers.flatMap((at) => {
        const [own, other] = [Math.floor(at / CLASS_SIZE), Math.floor(((at + 7 * CLASS_SIZE) % people) / CLASS_SIZE)];
        return [`a${at},,,c${own},u${at},student,,`, `b${at},,,c${other},u${at},student,,`];
      }),
    ),
  });
}
