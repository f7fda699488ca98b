import { APPLIED_VERSIONS } from "../../src/sync/site/tables.ts";
import { scanRecords } from "../../src/sync/storage/transaction-program.ts";
import type { Disk } from "./machine.ts";
import { createTwoNodeFixture } from "./two-node-fixture.ts";

/** What a restored backup led to. */
export interface BackupRestoreResult {
  side: "appliance" | "cloud";
  rows: number;
  /** Rows in which the two differ once they had time to agree. */
  diverged: number;
  /** Commands of the day that was lost, and how many of them sounded again. */
  commands: number;
  soundedAgain: number;
  violation: string | null;
}

/** After the restore: long enough for all to be sent again. */
const CONVERGENCE_MS = 120_000;

/**
 * One side is put back to what it was a day ago. Since then rows were made, changed and deleted, the appliance reported,
 * and commands of all classes sounded.
 */
export async function restoreOldBackup(
  side: BackupRestoreResult["side"],
  { rows, commands, dayMs }: { rows: number; commands: number; dayMs: number },
  makeDisk: () => Disk,
): Promise<BackupRestoreResult> {
  const scene = await createTwoNodeFixture(makeDisk);
  const { dice, time, cloud, site, network, pass } = scene;
  const ids = Array.from({ length: rows }, () => dice.id());
  await scene.change(ids, rows);
  await sendSome(0, commands);
  await pass(30_000);
  const image = site.image(time.now());
  cloud.backUp();

  const since = Array.from({ length: rows / 2 }, () => dice.id());
  await scene.change([...ids.slice(0, rows / 2), ...since], rows);
  for (const id of ids.slice(-rows / 10)) {
    void cloud.hub?.publish([{ type: "people", id, body: null, scope: null, at: time.now() }]);
    await pass(5);
  }
  for (let turn = 0; turn < 50; turn += 1) {
    const id = dice.id();
    site.write("reports", id, () => ({ id, note: "seen", picture: null }));
    site.write("panels", `site-a-${turn % 3}`, () => ({ id: `site-a-${turn % 3}`, note: `p${turn}` }));
    await pass(20);
  }
  await sendSome(commands, commands);
  // The day itself is quiet, and nobody is connected.
  network.isUp = false;
  network.cut();
  await pass(dayMs);
  network.isUp = true;
  const heard = new Map([...site.watched.sounded].map(([cid, times]) => [cid, times.length]));
  if (side === "appliance") site.restore(image, false);
  else cloud.restore();
  await pass(CONVERGENCE_MS);
  scene.oracle.settled(cloud.machine, [site.watched], scene.issued);

  const known = new Map(cloud.machine.life ? cloud.liveRows("people").map(({ id, seq }) => [id, seq]) : []);
  const base = site.machine.disk.peek(() => scanRecords(APPLIED_VERSIONS, { where: ["people"] }));
  const same = base.filter(({ id, seq }) => known.get(id) === seq).length;
  const again = [...site.watched.sounded].filter(([cid, times]) => times.length > (heard.get(cid) ?? 0));
  const found = {
    ...{ side, rows: known.size, commands: heard.size, soundedAgain: again.length, violation: scene.violation() },
    diverged: Math.max(known.size, base.length) - same,
  };
  image.disk.close();
  scene.close();
  return found;

  async function sendSome(from: number, count: number): Promise<void> {
    for (let at = from; at < from + count; at += 1) {
      const isEmergency = at % 2 === 0;
      scene.order(`c${at}`, isEmergency ? "emergency" : "routine", isEmergency ? 900_000 : 120_000);
      await pass(200);
    }
    await pass(10_000);
  }
}
