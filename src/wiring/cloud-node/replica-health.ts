import { readdirSync } from "node:fs";
import type { Clock } from "../../lib/clock.ts";
import type { HealthReason, HealthSource } from "../../ops/health/health.ts";
import type { ReplicaState } from "./replica-verification.ts";

/** What is known to be wrong with a node's copy of its organisation; there while it acts. */
export interface ReplicaHealth {
  /** How the copy was found. One that is not whole is made anew and found again, unless it was just made. */
  reportVerification(wholeness: Exclude<ReplicaState, "whole">, isJustMade: boolean): void;
  healthSource: HealthSource;
}

/** How long a copy is told of that was made anew. own choice: like a process that was cut off */
const REPORT_DURATION_MS = 3_600_000;
/** Begins the name of a copy that is kept for somebody to look into. */
const DIVERGED_PREFIX = "parted-";

/** The name of one that is kept now. */
export function divergedReplicaName(now: number): string {
  return `${DIVERGED_PREFIX}${now}.db`;
}

const DIVERGENCE_TEXTS = {
  less: "lacks rows that the organisation's database has",
  parted: "lacks rows that the organisation's database has, and has some that are not there",
};

/** Makes it. Kept copies are told of until they are gone from the folder, also by later starts. */
export function createReplicaHealth({ dataDir, clock }: { dataDir: string; clock: Pick<Clock, "now"> }): ReplicaHealth {
  let verificationReason: HealthReason | null = null;
  let rebuiltAt: number | null = null;

  function rebuiltReasons(): HealthReason[] {
    if (rebuiltAt === null || clock.now() - rebuiltAt > REPORT_DURATION_MS) return [];
    const at = new Date(rebuiltAt).toISOString().slice(11, 16);
    const reason = `At ${at} UTC this node's copy lacked rows that the organisation's database has, and was made anew: is its disk sound?`;
    return [{ level: "yellow", code: "hub-copy:made-anew", reason }];
  }

  function divergedReplicaReasons(): HealthReason[] {
    const names = readdirSync(dataDir).filter((name) => name.startsWith(DIVERGED_PREFIX) && name.endsWith(".db"));
    return names.map((name) => {
      const words = "The organisation's database lacked rows that this node had kept and answered for. They stand in";
      const reason = `${words} ${name}, in this node's folder: bring back what is needed, then take the file away.`;
      return { level: "yellow", code: `hub-copy:${name}`, reason };
    });
  }

  return {
    reportVerification(wholeness, isJustMade) {
      if (!isJustMade) {
        rebuiltAt = clock.now();
        return;
      }
      const reason = `This node acts with a copy that ${DIVERGENCE_TEXTS[wholeness]}, although it was just made: who and what stands in them is not reached. Another node may have them all.`;
      verificationReason = { level: "red", code: "hub-copy:lacking", reason };
    },
    healthSource: () => [
      ...(verificationReason ? [verificationReason] : []),
      ...rebuiltReasons(),
      ...divergedReplicaReasons(),
    ],
  };
}
