import { type BackupRestoreResult, restoreOldBackup } from "./backup-restore.ts";
import { type CatchUpResult, runCatchUpScenario } from "./catch-up.ts";
import { createSqliteDisks } from "./sqlite-disk.ts";

const ABSENCE = { rows: 10_000, changes: 100_000, awayMs: 3 * 24 * 3600_000 };
const DAY = { rows: 2_000, commands: 40, dayMs: 24 * 3600_000 };
/** @source the field's promise: an emergency is heard within this while rows are coming, at the 99th percentile */
const EMERGENCY_MS = 300;

/** Plays the return after three days, and the restores of a day before on both sides, on real files. `broken` in words. */
export async function runRecoveryScenarios(
  say: (progress: string) => void,
): Promise<{ catchUp: CatchUpResult; restores: BackupRestoreResult[]; broken: string[] }> {
  const disks = createSqliteDisks();
  try {
    const back = await runCatchUpScenario(ABSENCE, disks.make, () => performance.now());
    say(`back after three days: ${JSON.stringify({ ...ABSENCE, ...back })}`);
    const restores: BackupRestoreResult[] = [];
    for (const side of ["appliance", "cloud"] as const) {
      restores.push(await restoreOldBackup(side, DAY, disks.make));
      say(`a day-old backup of the ${side}: ${JSON.stringify(restores.at(-1))}`);
    }
    const broken = [...catchUpViolations(back), ...restores.flatMap(restoreViolations)];
    for (const what of broken) say(what);
    return { catchUp: back, restores, broken };
  } finally {
    disks.remove();
  }
}

function catchUpViolations(back: CatchUpResult): string[] {
  const { sent, sentAgain, stale, staleSounded, emergencies, emergencyP99Ms, isEqual, violation } = back;
  return [
    ...(violation ? [violation] : []),
    ...(isEqual ? [] : ["the appliance did not become equal to the cloud"]),
    ...(sent === ABSENCE.rows && sentAgain === 0 ? [] : [`${sent} rows were sent, ${sentAgain} of them again`]),
    ...(stale === "expired" && staleSounded === 0
      ? []
      : [`the stale evacuation is ${stale}, heard ${staleSounded} times`]),
    ...(emergencies > 0 && emergencyP99Ms !== null && emergencyP99Ms <= EMERGENCY_MS
      ? []
      : [`of ${emergencies} emergencies, 99 % were heard within ${emergencyP99Ms} ms`]),
  ];
}

function restoreViolations({ side, rows, diverged, commands, soundedAgain, violation }: BackupRestoreResult): string[] {
  return [
    ...(violation ? [`${side}: ${violation}`] : []),
    ...(diverged === 0 && rows > 0 ? [] : [`${side}: ${diverged} of ${rows} rows differ`]),
    ...(soundedAgain === 0 && commands > 0 ? [] : [`${side}: ${soundedAgain} of ${commands} commands sounded again`]),
  ];
}
