import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createReplicaHealth, divergedReplicaName } from "../../../../src/wiring/cloud-node/replica-health.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { makeTempDir } from "../../../support/temp-dir.ts";

it("a copy that was made anew is told of for an hour, one that stays incomplete for good, and a kept one until it is gone", async () => {
  const [dataDir, clock] = [makeTempDir(), createFakeClock()];
  const faults = createReplicaHealth({ dataDir, clock });
  const told = () => faults.healthSource().map(({ level, code }) => `${level} ${code}`);
  expect(told()).toEqual([]);
  faults.reportVerification("less", false);
  expect(told()).toEqual(["yellow hub-copy:made-anew"]);
  faults.reportVerification("parted", true);
  const kept = divergedReplicaName(clock.now());
  for (const end of ["", "-wal"]) writeFileSync(join(dataDir, `${kept}${end}`), "");
  expect(told()).toEqual(["red hub-copy:lacking", "yellow hub-copy:made-anew", `yellow hub-copy:${kept}`]);
  await clock.advance(3_600_001);
  expect(told()).toEqual(["red hub-copy:lacking", `yellow hub-copy:${kept}`]);
  rmSync(join(dataDir, kept));
  expect(told()).toEqual(["red hub-copy:lacking"]);
});
