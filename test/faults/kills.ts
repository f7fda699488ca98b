import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seededRandom } from "../../src/tools/simulator/seeded-random.ts";
import { type RunningDaemon, runInit, serveAppliance } from "../support/carillon-process.ts";

/** What a series of kills came to. */
export interface KillRun {
  kills: number;
  /** Creates that were answered with 200. */
  answered: number;
  /** Answered creates that were gone after the restart, or stood there with other values. */
  lost: string[];
}

const CLIENTS = 8;
/** Own choice: a kill falls into the first 400 ms after the first answer, where WAL growth and checkpoints lie. */
const MAX_LOAD_MS = 400;

/**
 * Kills the daemon (SIGKILL) `kills` times at moments that follow from `seed` while eight clients create users, starts it
 * again each time, and looks for every create that had been answered.
 */
export async function killUnderLoad(kills: number, seed: number, say: (progress: string) => void): Promise<KillRun> {
  const dataDir = await mkdtemp(join(tmpdir(), "carillon-kills-"));
  const result: KillRun = { kills: 0, answered: 0, lost: [] };
  try {
    const { token } = await runInit(dataDir);
    let daemon = await serveAppliance(dataDir);
    try {
      while (result.kills < kills) {
        const answered = await createUntilKilled(
          daemon,
          token,
          result.kills,
          seededRandom(seed, result.kills) * MAX_LOAD_MS,
        );
        result.kills += 1;
        result.answered += answered.size;
        daemon = await serveAppliance(dataDir);
        result.lost.push(...(await missing(daemon, token, answered)));
        say(`${result.kills} of ${kills} kills, ${result.answered} creates answered, ${result.lost.length} lost`);
      }
    } finally {
      await daemon.end("SIGTERM");
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
  return result;
}

/** Creates users until the daemon is killed, `afterMs` after the first answer; gives name by id of those answered. */
async function createUntilKilled(
  daemon: RunningDaemon,
  token: string,
  round: number,
  afterMs: number,
): Promise<Map<string, string>> {
  const answered = new Map<string, string>();
  let killed = false;
  let number = 0;
  const client = async (): Promise<void> => {
    while (!killed) {
      const name = `Round ${round} user ${number++}`;
      const id = await createTestUser(daemon, token, name).catch((error: unknown) => {
        // The connection breaks with the kill; anything before it is a fault of the daemon.
        if (!killed) throw error;
        return null;
      });
      if (id !== null) answered.set(id, name);
    }
  };
  const first = `Round ${round} first user`;
  answered.set(await createTestUser(daemon, token, first), first);
  const clients = Array.from({ length: CLIENTS }, client);
  const kill = new Promise<void>((done) => setTimeout(done, afterMs)).then(() => {
    killed = true;
    return daemon.end("SIGKILL");
  });
  await Promise.all([kill, ...clients]);
  return answered;
}

/** Creates a user and gives its id; throws an Error when that is refused. */
export async function createTestUser(daemon: RunningDaemon, token: string, name: string): Promise<string> {
  const response = await fetch(`${daemon.url}/api/v1/users`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ name, type: "anonymous" }),
  });
  const answer = (await response.json()) as { id: string };
  if (response.status !== 200) throw new Error(`create was refused: ${JSON.stringify(answer)}`);
  return answer.id;
}

async function missing(daemon: RunningDaemon, token: string, answered: ReadonlyMap<string, string>): Promise<string[]> {
  const ids = [...answered.keys()];
  const lost: string[] = [];
  for (let at = 0; at < ids.length; at += 50) {
    const some = ids.slice(at, at + 50);
    const query = some.map((id) => `ids[]=${id}`).join("&");
    const response = await fetch(`${daemon.url}/api/v1/users?limit=1000&${query}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const { data } = (await response.json()) as { data: { id: string; name: string }[] };
    const found = new Map(data.map((user) => [user.id, user.name]));
    lost.push(...some.filter((id) => found.get(id) !== answered.get(id)));
  }
  return lost;
}
