import type { SignedAuditNote } from "../store/audit-types.ts";

/** State that an appliance sends to its peers each second and on changes. Always complete, so that one may be lost. */
export interface PeerHeartbeat {
  endpoint: string;
  /** Id of the process run. */
  boot: string;
  /** Sequence number in this run. */
  n: number;
  version: string;
  /** Wall clock of the sender, epoch ms. */
  at: number;
  /** Groups for which it is active, by id, with the term. */
  holds: Readonly<Record<string, number>>;
  /** Number of sounds that wait for their time. */
  armed: number;
  /** Ids of sounds whose first packet was sent. */
  sounding: readonly string[];
  /** Ids of sounds that ended in the last minutes. */
  over: readonly string[];
  /** Groups that a sound is limited to, by its id; other sounds go to all devices. */
  covers?: Readonly<Record<string, readonly string[]>>;
  /** The end of its audit, for peers to keep. */
  auditEnd?: SignedAuditNote;
  /** Ends of the audits of peers that it keeps, by endpoint. */
  auditEnds?: Readonly<Record<string, readonly SignedAuditNote[]>>;
}

/** @source docs/decisions/0040-replication.md, Section 9 */
export const HEARTBEAT_INTERVAL_MS = 1_000;

/** Ids per list; a heartbeat with more is invalid. @source docs/decisions/0303-failover-timing.md */
const MAX_IDS = 1_000;

/** Parses a heartbeat; null if it is invalid. Unknown members are ignored. */
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
