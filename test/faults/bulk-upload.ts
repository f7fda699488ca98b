import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { createApiClient } from "../../src/api-client/api-client.ts";
import { type RunningDaemon, runInit, serveAppliance } from "../support/carillon-process.ts";
import {
  type LoopStatistics,
  readLoopStatistics,
  startIdle,
  withLoopMonitor,
  worstLoopStatistics,
} from "./loop-monitor.ts";

/** What a run came to. */
export interface BulkRun {
  lines: number;
  testSeconds: number;
  commitSeconds: number;
  /** Longest answer to an ordinary write that was sent during the commit. */
  writeMaxMs: number;
  /** The daemon's loop during test and commit; beside it what the machine itself keeps everybody waiting. */
  pulse: LoopStatistics;
  machineLagMaxMs: number;
  /** What the kernel says a process used at most at once that did nothing: time that was stolen from the machine. */
  machineTurnMaxMs: number;
  /** Promises that were not kept, in words. */
  broken: string[];
}

interface Upload {
  id: string;
  status: string;
  percentage: number;
}

interface Log {
  line: number;
  resourceCreated: boolean;
  resourceResponse: string;
}

/** Uploads, their logs, staging, audit and feed; and what each request and each start leaves that has nothing to do with uploads. */
const TRACES =
  /^(bulk_upload|staged_batches|audit_entries|changes|sqlite_|search_pending|idempotency_keys|user_tokens|daemon_runs|.*__search)/;
const ENDED = ["COMPLETE", "success", "ERROR"];
/** Device groups that an appliance may have. @source service-api.md, Limits */
const MAX_GROUPS = 3_500;

/**
 * Uploads `lines` multicast zones: a test, one with a wrong line in its middle, one that is killed at half, and a commit
 * with writes of others beside it; at last one device group too many.
 */
export async function interruptBulkUpload(lines: number, say: (progress: string) => void): Promise<BulkRun> {
  const folder = await mkdtemp(join(tmpdir(), "carillon-bulk-"));
  const data = join(folder, "data");
  const { token } = await runInit(data);
  const pulses: LoopStatistics[] = [];
  const broken: string[] = [];
  const expect = (kept: boolean, promise: string): void => {
    if (!kept) broken.push(promise);
    say(`${kept ? "kept" : "BROKEN"}: ${promise}`);
  };
  const idle = await startIdle(join(folder, "idle.json"));
  let daemon: RunningDaemon = await withLoopMonitor(join(folder, "pulse.json"), () => serveAppliance(data, []));
  const again = async (signal: "SIGTERM" | "SIGKILL"): Promise<void> => {
    await daemon.end(signal);
    daemon = await withLoopMonitor(join(folder, "pulse.json"), () => serveAppliance(data, []));
  };
  const api = () => createApiClient(daemon.url, token);
  const send = async (resourceType: string, testMode: boolean, table: string): Promise<string> => {
    const { id } = await api().post<Upload>("/bulk-uploads", { resourceType, testMode });
    await api().upload(`/bulk-uploads/${id}/file`, new Blob([table], { type: "text/tab-separated-values" }), "a.tsv");
    return id;
  };
  const until = async (id: string, isOver: (upload: Upload) => boolean, beside = async () => {}): Promise<Upload> => {
    for (;;) {
      await beside();
      const upload = await api().get<Upload>(`/bulk-uploads/${id}`);
      if (isOver(upload) || ENDED.includes(upload.status)) return upload;
      await pause(200);
    }
  };
  const ended = (id: string, beside?: () => Promise<void>): Promise<Upload> => until(id, () => false, beside);
  const faultsOf = async (id: string): Promise<Log[]> => {
    const { data: logs } = await api().get<{ data: Log[] }>(`/bulk-uploads/${id}/logs?resourceCreated=false&limit=10`);
    return logs.filter(({ resourceResponse }) => resourceResponse !== "Created.");
  };
  const count = async (family: string): Promise<number> =>
    (await api().get<{ total: number }>(`/${family}?limit=1`)).total;
  /** What the daemon's loop does while `work` runs; what a daemon does first after its start is not the upload's. */
  const watching = async (work: () => Promise<void>): Promise<void> => {
    await count("bulk-uploads");
    await pause(2_000);
    daemon.child.kill("SIGUSR2");
    await work();
    await pause(400);
    pulses.push(await readLoopStatistics(join(folder, "pulse.json")));
  };
  const timed = async (work: () => Promise<void>): Promise<number> => {
    const began = performance.now();
    await work();
    return Math.round(performance.now() - began) / 1e3;
  };

  try {
    await daemon.end("SIGTERM");
    const before = hashes(data);
    daemon = await withLoopMonitor(join(folder, "pulse.json"), () => serveAppliance(data, []));
    const good = zones(lines);
    let tested = "";
    let testSeconds = 0;
    await watching(async () => {
      testSeconds = await timed(async () => {
        tested = await send("speakers", true, good);
        const { status } = await ended(tested);
        expect(status === "success", `a test of ${lines} lines ends well`);
      });
    });
    await daemon.end("SIGTERM");
    const changed = [...hashes(data)].filter(([name, text]) => before.get(name) !== text).map(([name]) => name);
    expect(changed.length === 0, `a test leaves all tables as they were (${changed.join(", ") || "all"})`);
    daemon = await withLoopMonitor(join(folder, "pulse.json"), () => serveAppliance(data, []));

    const middle = Math.floor(lines / 2);
    const bad = await send("speakers", false, zones(lines, middle));
    const { status: ofBad } = await ended(bad);
    const [fault, ...further] = await faultsOf(bad);
    expect(ofBad === "ERROR" && (await count("devices")) === 0, "one wrong line in the middle: nothing is made");
    const isTold = fault?.line === middle + 2 && further.length === 0;
    expect(isTold, `its number and reason are in the logs (${fault?.line}: ${fault?.resourceResponse})`);

    const killed = await send("speakers", false, good);
    await until(killed, ({ percentage }) => percentage >= 50);
    await again("SIGKILL");
    expect((await count("devices")) === 0, "killed at half: nothing is made");

    let writeMaxMs = 0;
    const beside = async (): Promise<void> => {
      const began = performance.now();
      await api().post("/distribution-lists", { name: "Beside" });
      writeMaxMs = Math.max(writeMaxMs, performance.now() - began);
    };
    let [commitSeconds, committed] = [0, ""];
    await watching(async () => {
      commitSeconds = await timed(async () => {
        await api().post(`/bulk-uploads/${tested}/commit`, {});
        committed = (await ended(tested, beside)).status;
      });
      // Feed, audit and search hear of them afterwards.
      await pause(Math.max(2_000, lines / 10));
    });
    expect(committed === "COMPLETE" && (await count("devices")) === lines, "a commit makes all of them");

    const groups = await send("device-groups", false, groupsTable(MAX_GROUPS + 1));
    const { status: ofGroups } = await ended(groups);
    const [tooMany] = await faultsOf(groups);
    expect(ofGroups === "ERROR" && (await count("device-groups")) === 0, "one device group too many: none is made");
    const said = tooMany?.line === MAX_GROUPS + 2 && tooMany.resourceResponse.includes(`Limit of ${MAX_GROUPS}`);
    expect(said, `the line that passes the limit says so (${tooMany?.line}: ${tooMany?.resourceResponse})`);

    const pulse = worstLoopStatistics(pulses);
    const { lagMaxMs: machineLagMaxMs, turnMaxMs: machineTurnMaxMs } = await readLoopStatistics(
      join(folder, "idle.json"),
    );
    return { lines, testSeconds, commitSeconds, writeMaxMs, pulse, machineLagMaxMs, machineTurnMaxMs, broken };
  } finally {
    idle.stop();
    await daemon.end("SIGTERM");
    await rm(folder, { recursive: true, force: true });
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

/** A table of `count` zones; at `wrong` one whose description is missing. */
function zones(count: number, wrong = -1): string {
  const lines = Array.from({ length: count }, (_, at) => {
    const group = `239.${1 + (at >> 16)}.${(at >> 8) & 255}.${at & 255}`;
    return `zone:Z${at}\t${at === wrong ? "" : `Zone ${at}`}\t${group}\t${5_004 + (at % 2) * 2}\tPCMU`;
  });
  const head = ["deviceIdentifier", "description", "attributes.Group", "attributes.Port", "attributes.Codec"];
  return [head.join("\t"), ...lines].join("\n");
}

function groupsTable(count: number): string {
  return ["name\tfilterType", ...Array.from({ length: count }, (_, at) => `Group ${at}\tREJECT`)].join("\n");
}

/** What each table holds, of an appliance that does not run; those that an upload leaves traces in are left out. */
function hashes(data: string): Map<string, string> {
  const db = new Database(join(data, "carillon.db"));
  try {
    const names = db
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
      .pluck()
      .all() as string[];
    return new Map(
      names
        .filter((name) => !TRACES.test(name))
        .map((name) => [name, JSON.stringify(db.prepare(`SELECT * FROM "${name}"`).all())]),
    );
  } finally {
    db.close();
  }
}
