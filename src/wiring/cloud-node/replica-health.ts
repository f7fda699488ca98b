import { readdirSync } from "node:fs";
import type { Clock } from "../../lib/clock.ts";
import type { HealthReason, HealthSource } from "../../ops/health/health.ts";
import type { ReplicaState } from "./replica-verification.ts";

/** Problems found in a node's replica, reported while it is the leader. */
export interface ReplicaHealth {
  /** An incomplete replica is rebuilt and verified again, unless it was just built. */
  reportVerification(state: Exclude<ReplicaState, "whole">, isJustMade: boolean): void;
  healthSource: HealthSource;
}

/** A rebuilt replica is reported for this time. */
const REPORT_DURATION_MS = 3_600_000;
/** File name prefix of replicas kept for inspection. */
const DIVERGED_PREFIX = "parted-";

export function divergedReplicaName(now: number): string {
  return `${DIVERGED_PREFIX}${now}.db`;
}

const DIVERGENCE_TEXTS = {
  less: "lacks rows that the database has",
  parted: "lacks rows that the database has, and has rows that the database lacks",
};

/** Kept replicas are reported until their files are deleted, across restarts. */
export function createReplicaHealth({ dataDir, clock }: { dataDir: string; clock: Pick<Clock, "now"> }): ReplicaHealth {
  let verificationReason: HealthReason | null = null;
  let rebuiltAt: number | null = null;

  function rebuiltReasons(): HealthReason[] {
    if (rebuiltAt === null || clock.now() - rebuiltAt > REPORT_DURATION_MS) return [];
    const at = new Date(rebuiltAt).toISOString().slice(11, 16);
    const reason = `At ${at} UTC this node's replica lacked rows that the database has and was rebuilt. Check its disk.`;
    return [{ level: "yellow", code: "hub-copy:made-anew", reason }];
  }

  function divergedReplicaReasons(): HealthReason[] {
    const names = readdirSync(dataDir).filter((name) => name.startsWith(DIVERGED_PREFIX) && name.endsWith(".db"));
    return names.map((name) => {
      const text = "The database lacked rows that this node had already acknowledged. They are in";
      const reason = `${text} ${name} in this node's data directory: recover what is needed, then delete the file.`;
      return { level: "yellow", code: `hub-copy:${name}`, reason };
    });
  }

  return {
    reportVerification(state, isJustMade) {
      if (!isJustMade) {
        rebuiltAt = clock.now();
        return;
      }
      const reason = `This node is the leader with a replica that ${DIVERGENCE_TEXTS[state]}, although it was just built: people and devices in those rows are not reached. Another node may have a complete replica.`;
      verificationReason = { level: "red", code: "hub-copy:lacking", reason };
    },
    healthSource: () => [
      ...(verificationReason ? [verificationReason] : []),
      ...rebuiltReasons(),
      ...divergedReplicaReasons(),
    ],
  };
}
