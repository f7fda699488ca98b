/** What an appliance tells its neighbours each second, and at once when something changes. It says all, so that one may be lost. */
export interface PeerHeartbeat {
  endpoint: string;
  /** Another one after each start of the process. */
  boot: string;
  /** Number of the beat in this run. */
  n: number;
  version: string;
  /** The appliance's wall clock when it was sent, epoch ms. */
  at: number;
  /** Groups that it activates, by id, with the term in which it took them. */
  holds: Readonly<Record<string, number>>;
  /** How many messages wait for their turn or moment. */
  armed: number;
  /** Ids of messages whose first packet is out. */
  sounding: readonly string[];
  /** Ids of messages that sounded to their end, of the last minutes. */
  over: readonly string[];
  /** Of these messages, to the devices of which groups alone it sounds or sounded them; of others to all. */
  covers?: Readonly<Record<string, readonly string[]>>;
}

/** How often neighbours are told. @source replication.md 9 */
export const HEARTBEAT_INTERVAL_MS = 1_000;

/** More ids than this are no honest beat. own choice */
const MAX_IDS = 1_000;

/** Reads a beat; null for what is none. Members that are not known are passed over. */
export function parseHeartbeat(text: string): PeerHeartbeat | null {
  try {
    const read = JSON.parse(text) as PeerHeartbeat;
    const isBeat =
      [read.endpoint, read.boot, read.version].every((name) => typeof name === "string" && name.length <= 100) &&
      [read.n, read.at, read.armed].every(Number.isFinite) &&
      [read.sounding, read.over].every(areIds) &&
      areIds(Object.keys(read.holds)) &&
      (read.covers === undefined || Object.values(read.covers).every(areIds)) &&
      Object.values(read.holds).every(Number.isSafeInteger);
    return isBeat ? read : null;
  } catch {
    return null;
  }
}

function areIds(ids: readonly unknown[]): boolean {
  return Array.isArray(ids) && ids.length <= MAX_IDS && ids.every((id) => typeof id === "string" && id.length <= 100);
}
