import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { EngineDeps } from "../../../../src/notifications/engine/broadcast-activator.ts";
import { createEmergencyPrecedence } from "../../../../src/notifications/engine/emergency-precedence.ts";
import { createPipelineRunner } from "../../../../src/notifications/engine/pipeline-runner.ts";
import {
  advanceStage,
  type NotificationStage,
  type PipelineStage,
} from "../../../../src/notifications/engine/pipeline-stage.ts";
import notificationActivities from "../../../../src/resources/notifications/notification-activities.ts";
import notifications from "../../../../src/resources/notifications/notifications.ts";
import type { StageName } from "../../../../src/resources/notifications/pipeline-stages.ts";
import { type BroadcastFixture, openBroadcasts } from "../notification-fixture.ts";

let fixture: BroadcastFixture;
let group: string;
let ran: string[];
const FOLLOWING: Partial<Record<StageName, NotificationStage>> = {
  resolve: "deliver",
  deliver: "settle",
  settle: "settled",
};

beforeEach(async () => {
  fixture = await openBroadcasts();
  group = await fixture.group("Nobody", []);
  ran = [];
});
afterEach(() => fixture.close());

const send = async (subject: string, more: object = {}) =>
  (await fixture.send({ subject, deviceGroupIds: [group], ...more })).id;
const stageOf = (id: string) => fixture.store.get(notifications, id)?.stage;
const failures = (id: string) =>
  fixture.store.find(notificationActivities, { notificationId: id, type: "broadcast-failed" });

/** Three stages that only go on; `fails` says whether the run of a stage throws. */
function runnerOf(fails: (subject: string, stage: StageName) => boolean = () => false) {
  const names = Object.keys(FOLLOWING) as StageName[];
  const stages = names.map(
    (name): PipelineStage<EngineDeps> => ({
      name,
      async run(id, needs) {
        const subject = needs.store.get(notifications, id)?.subject ?? "";
        ran.push(`${subject} ${name}`);
        if (fails(subject, name)) throw new RangeError("broken");
        await needs.store.write((tx) => advanceStage(tx, id, FOLLOWING[name] ?? "settled"));
      },
    }),
  );
  const emergencyPrecedence = createEmergencyPrecedence(fixture.needs.clock, fixture.needs.signal);
  return createPipelineRunner(stages, { ...fixture.needs, emergencyPrecedence } as EngineDeps);
}

describe("the runner", () => {
  it("resumes unsettled messages, emergencies first, and runs each through its stages once", async () => {
    const ids = [await send("routine"), await send("urgent", { priority: "critical" })];
    await send("preview", { draft: true });
    const runner = runnerOf();
    runner.runUnfinished();
    for (const id of ids) runner.run(id);
    await runner.waitUntilIdle();
    expect(ran[0]).toBe("urgent resolve");
    expect([...ran].sort()).toEqual(
      ["routine", "urgent"].flatMap((subject) => ["deliver", "resolve", "settle"].map((name) => `${subject} ${name}`)),
    );
    expect(ids.map(stageOf)).toEqual(["settled", "settled"]);
  });

  it("makes others wait for emergencies that are not audible yet, two seconds at most, except for scheduled starts", async () => {
    let broken = true;
    const runner = runnerOf((subject, stage) => broken && subject === "urgent" && stage === "deliver");
    runner.run(await send("urgent", { priority: "critical" }));
    await fixture.clock.advance(100);
    runner.run(await send("routine"));
    await fixture.clock.advance(1_800);
    expect(ran).not.toContain("routine resolve");
    await fixture.clock.advance(300);
    expect(ran).toContain("routine resolve");
    expect(ran).not.toContain("urgent settle");
    broken = false;
    await fixture.clock.advance(60_000);
    await runner.waitUntilIdle();
    expect(ran).toContain("routine settle");
    expect(ran).toContain("urgent settle");
  });

  it("retries a failing stage, records it once, and does not delay others", async () => {
    let broken = true;
    const runner = runnerOf((subject, stage) => subject === "stuck" && stage === "deliver" && broken);
    const [stuck, other] = [await send("stuck"), await send("other")];
    runner.run(stuck);
    runner.run(other);
    for (let passed = 0; passed < 4_000; passed += 500) await fixture.clock.advance(500);
    expect([stageOf(stuck), stageOf(other)]).toEqual(["deliver", "settled"]);
    expect(failures(stuck)).toMatchObject([{ details: { stage: "deliver", givenUp: false } }]);
    expect(JSON.stringify(failures(stuck))).not.toContain("broken");
    broken = false;
    await fixture.clock.advance(10_000);
    expect(stageOf(stuck)).toBe("settled");
  });

  it("abandons a message past its deadline", async () => {
    const id = await send("hopeless");
    runnerOf((_subject, stage) => stage === "deliver").run(id);
    for (let minute = 0; minute < 4; minute++) await fixture.clock.advance(60_000);
    expect(stageOf(id)).toBe("settled");
    expect(failures(id).at(-1)).toMatchObject({ details: { givenUp: true } });
  });

  it("skips to the end for a message that was ended before any device was asked", async () => {
    const id = await send("aborted");
    await fixture.store.write((tx) => {
      tx.run("UPDATE notifications SET aborted_at = ? WHERE id = ?", fixture.clock.now(), id);
    });
    const runner = runnerOf();
    runner.run(id);
    await runner.waitUntilIdle();
    expect(ran).toEqual(["aborted settle"]);
  });
});
