import { readdirSync } from "node:fs";
import type { Clock } from "../../lib/clock.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
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

const DIVERGENCE_REASONS = { less: "health.replica-less", parted: "health.replica-parted" } as const;

/** Kept replicas are reported until their files are deleted, across restarts. */
export function createReplicaHealth({ dataDir, clock }: { dataDir: string; clock: Pick<Clock, "now"> }): ReplicaHealth {
  let verificationReason: HealthReason | null = null;
  let rebuiltAt: number | null = null;

  function rebuiltReasons(): HealthReason[] {
    if (rebuiltAt === null || clock.now() - rebuiltAt > REPORT_DURATION_MS) return [];
    const at = new Date(rebuiltAt).toISOString().slice(11, 16);
    const reason = sentence("health.replica-rebuilt", { time: at });
    return [{ level: "yellow", code: "hub-copy:made-anew", reason }];
  }

  function divergedReplicaReasons(): HealthReason[] {
    const names = readdirSync(dataDir).filter((name) => name.startsWith(DIVERGED_PREFIX) && name.endsWith(".db"));
    return names.map((name) => {
      const reason = sentence("health.replica-kept", { file: name });
      return { level: "yellow", code: `hub-copy:${name}`, reason };
    });
  }

  return {
    reportVerification(state, isJustMade) {
      if (!isJustMade) {
        rebuiltAt = clock.now();
        return;
      }
      const reason = sentence(DIVERGENCE_REASONS[state]);
      verificationReason = { level: "red", code: "hub-copy:lacking", reason };
    },
    healthSource: () => [
      ...(verificationReason ? [verificationReason] : []),
      ...rebuiltReasons(),
      ...divergedReplicaReasons(),
    ],
  };
}
