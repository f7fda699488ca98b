import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { createApiClient } from "../../src/cli/api-client.ts";
import { initialise, type RunningDaemon, serve } from "../support/product.ts";
import { pulseIn, startIdle, watched } from "./loop-monitor.ts";

/** What a run came to; times of the test and the commit apart. */
export interface BulkRun {
  lines: number;
  testSeconds: number;
  commitSeconds: number;
  /** Tables that the test changed beside those that may keep its traces. */
  changed: string[];
  /** Rows found after the kill at half, and after the commit. */
  afterKill: number;
  afterCommit: number;
  /** Longest answer to a urgent message that was sent during the upload. */
  writeMaxMs: number;
  lagP99Ms: number;
  lagMaxMs: number;
  machineLagP99Ms: number;
}

interface Upload {
  id: string;
  status: string;
  percentage: number;
}

const TRACES =
  /^(bulk_upload|store_batches|audit_entries|changes|sqlite_|search_pending|once_keys|user_tokens|.*__search)/;
const ENDED = ["COMPLETE", "success", "ERROR"];

/** Uploads `lines` multicast zones: a test, one that is killed at half, and a commit, with writes of others beside it. */
export async function bulk(lines: number, say: (progress: string) => void): Promise<BulkRun> {
  const folder = await mkdtemp(join(tmpdir(), "carillon-bulk-"));
  const data = join(folder, "data");
  const { token } = await initialise(data);
  const pulse = join(folder, "pulse.json");
  const idle = await startIdle(join(folder, "idle.json"));
  const table = new Blob([zones(lines)], { type: "text/tab-separated-values" });
  let daemon: RunningDaemon = await serve(data, []);
  const again = async (signal: "SIGTERM" | "SIGKILL"): Promise<void> => {
    await daemon.end(signal);
    daemon = await watched(pulse, () => serve(data, []));
  };
  const client = () => createApiClient(daemon.url, token);
  const send = async (testMode: boolean): Promise<string> => {
    const { id } = await client().post<Upload>("/bulk-uploads", { resourceType: "speakers", testMode });
    await client().upload(`/bulk-uploads/${id}/file`, table, "zones.tsv");
    return id;
  };
  let writeMaxMs = 0;
  const until = async (id: string, isOver: (upload: Upload) => boolean): Promise<Upload> => {
    for (;;) {
      const began = performance.now();
      await client().post("/distribution-lists", { name: "Beside", description: id });
      writeMaxMs = Math.max(writeMaxMs, performance.now() - began);
      const upload = await client().get<Upload>(`/bulk-uploads/${id}`);
      if (isOver(upload)) return upload;
      await new Promise((done) => setTimeout(done, 200));
    }
  };
  const hasEnded = ({ status }: Upload): boolean => ENDED.includes(status);
  try {
    await daemon.end("SIGTERM");
    const before = hashes(data);
    daemon = await serve(data, []);
    let began = performance.now();
    const tested = await send(true);
    let upload = await client().get<Upload>(`/bulk-uploads/${tested}`);
    while (!hasEnded(upload)) {
      await new Promise((done) => setTimeout(done, 200));
      upload = await client().get<Upload>(`/bulk-uploads/${tested}`);
    }
    const testSeconds = (performance.now() - began) / 1e3;
    say(`test: ${upload.status} after ${testSeconds.toFixed(1)} s`);
    await daemon.end("SIGTERM");
    const changed = [...hashes(data)].filter(([name, text]) => before.get(name) !== text).map(([name]) => name);
    daemon = await watched(pulse, () => serve(data, []));

    const killed = await send(false);
    await until(killed, ({ percentage, status }) => percentage >= 50 || ENDED.includes(status));
    await again("SIGKILL");
    const afterKill = await countOf(client());
    say(`killed at half: ${afterKill} rows after the restart`);

    began = performance.now();
    await client().post(`/bulk-uploads/${tested}/commit`, {});
    const { status } = await until(tested, hasEnded);
    const commitSeconds = (performance.now() - began) / 1e3;
    say(`commit: ${status} after ${commitSeconds.toFixed(1)} s`);
    const afterCommit = await countOf(client());
    await new Promise((done) => setTimeout(done, 10_000));
    const { lagP99Ms, lagMaxMs } = await pulseIn(pulse);
    const { lagP99Ms: machineLagP99Ms } = await pulseIn(join(folder, "idle.json"));
    const figures = { testSeconds, commitSeconds, changed, afterKill, afterCommit, writeMaxMs };
    return { lines, ...figures, lagP99Ms, lagMaxMs, machineLagP99Ms };
  } finally {
    idle.stop();
    await daemon.end("SIGTERM");
    await rm(folder, { recursive: true, force: true });
  }
}

function zones(count: number): string {
  const lines = Array.from({ length: count }, (_, at) => {
    const group = `239.${1 + (at >> 16)}.${(at >> 8) & 255}.${at & 255}`;
    return `zone:Z${at}\tZone ${at}\t${group}\t${5_004 + (at % 2) * 2}\tPCMU`;
  });
  const head = ["deviceIdentifier", "description", "attributes.Group", "attributes.Port", "attributes.Codec"];
  return [head.join("\t"), ...lines].join("\n");
}

async function countOf(api: ReturnType<typeof createApiClient>): Promise<number> {
  const { total } = await api.get<{ total: number }>("/devices?includeTotal=true&limit=1");
  return total;
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
