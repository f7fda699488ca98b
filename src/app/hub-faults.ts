import { readdirSync } from "node:fs";
import type { Clock } from "../base/clock.ts";
import type { HealthReason, HealthSource } from "../health/health.ts";
import type { Wholeness } from "./hub-whole.ts";

/** What is known to be wrong with a node's copy of its organisation; there while it acts. */
export interface CopyFaults {
  /** How the copy was found. One that is not whole is made anew and found again, unless it was just made. */
  found(wholeness: Exclude<Wholeness, "whole">, isJustMade: boolean): void;
  source: HealthSource;
}

/** How long a copy is told of that was made anew. own choice: like a process that was cut off */
const TOLD_MS = 3_600_000;
/** Begins the name of a copy that is kept for somebody to look into. */
const KEPT = "parted-";

/** The name of one that is kept now. */
export function keptName(now: number): string {
  return `${KEPT}${now}.db`;
}

const LACKS = {
  less: "lacks rows that the organisation's database has",
  parted: "lacks rows that the organisation's database has, and has some that are not there",
};

/** Makes it. Kept copies are told of until they are gone from the folder, also by later starts. */
export function createCopyFaults({ dataDir, clock }: { dataDir: string; clock: Pick<Clock, "now"> }): CopyFaults {
  let lasting: HealthReason | null = null;
  let remadeAt: number | null = null;

  function remade(): HealthReason[] {
    if (remadeAt === null || clock.now() - remadeAt > TOLD_MS) return [];
    const at = new Date(remadeAt).toISOString().slice(11, 16);
    const reason = `At ${at} UTC this node's copy lacked rows that the organisation's database has, and was made anew: is its disk sound?`;
    return [{ level: "yellow", code: "hub-copy:made-anew", reason }];
  }

  function kept(): HealthReason[] {
    const names = readdirSync(dataDir).filter((name) => name.startsWith(KEPT) && name.endsWith(".db"));
    return names.map((name) => {
      const words = "The organisation's database lacked rows that this node had kept and answered for. They stand in";
      const reason = `${words} ${name}, in this node's folder: bring back what is needed, then take the file away.`;
      return { level: "yellow", code: `hub-copy:${name}`, reason };
    });
  }

  return {
    found(wholeness, isJustMade) {
      if (!isJustMade) {
        remadeAt = clock.now();
        return;
      }
      const reason = `This node acts with a copy that ${LACKS[wholeness]}, although it was just made: who and what stands in them is not reached. Another node may have them all.`;
      lasting = { level: "red", code: "hub-copy:lacking", reason };
    },
    source: () => [...(lasting ? [lasting] : []), ...remade(), ...kept()],
  };
}
