import { describe, expect, it } from "vitest";
import {
  KEYS,
  type OfflineRingerFixture,
  openOfflineRingerFixture,
  packetOf,
  playOf,
  ringIn,
  SOUND,
} from "./offline-ringer-fixture.ts";

const MINUTE = 60_000;

/** A scene with a plan of these rings. */
async function planned(...rings: Parameters<OfflineRingerFixture["serve"]>[0]): Promise<OfflineRingerFixture> {
  const scene = await openOfflineRingerFixture();
  scene.serve(rings);
  await scene.refresh();
  return scene;
}

describe("an agent whose appliance is gone", () => {
  it("rings at the moment of the appliance's clock, once, and knows what to tell", async () => {
    const { clock, began, book, samples } = await planned(ringIn(MINUTE), ringIn(5 * MINUTE));
    await clock.advance(2 * MINUTE);
    expect(began).toEqual([MINUTE]);
    expect(samples()).toBe(SOUND.length);
    expect(book.unreported()).toMatchObject([{ ringId: `ring-${MINUTE}`, how: "alone" }]);
    await book.markReported(book.unreported());
    expect(book.unreported()).toEqual([]);
    await clock.advance(5 * MINUTE);
    expect(began).toEqual([MINUTE, 5 * MINUTE]);
  });

  it("has written it down before it sounds", async () => {
    const { clock, began, files } = await planned(ringIn(MINUTE));
    await clock.advance(MINUTE - 100);
    expect(began).toEqual([]);
    expect(files.get("sounded.json")?.toString()).toContain(`ring-${MINUTE}`);
  });

  it("waits until the appliance has been silent for 20 s, and rings late then, by 30 s at most", async () => {
    const { clock, ringing, began } = await planned(ringIn(MINUTE), ringIn(3 * MINUTE, { notAfter: 0 }));
    await clock.advance(MINUTE - 10_000);
    ringing.noteContact();
    await clock.advance(30_000);
    expect(began).toHaveLength(1);
    expect(began[0]).toBeGreaterThanOrEqual(MINUTE + 10_000);
    expect(began[0]).toBeLessThan(MINUTE + 11_000);
    await clock.advance(3 * MINUTE);
    expect(began).toHaveLength(1);
  });

  it("says that a sound it does not have was not heard, and that its player failed", async () => {
    const mute = await planned(ringIn(MINUTE));
    for (const name of mute.files.keys()) if (name.startsWith("sound-")) mute.files.set(name, Buffer.from("else"));
    await mute.clock.advance(2 * MINUTE);
    expect(mute.log).toContainEqual(expect.stringContaining("its sound is not here"));
    expect(mute.book.unreported()).toEqual([]);
    const broken = await openOfflineRingerFixture("no sound card");
    broken.serve([ringIn(MINUTE)]);
    await broken.refresh();
    await broken.clock.advance(2 * MINUTE);
    expect(broken.log).toContainEqual(expect.stringContaining("no sound card"));
    expect(broken.book.unreported()).toEqual([]);
  });
});

describe("an appliance that is there", () => {
  it("rings alone what it rings, also when it comes back just before the moment", async () => {
    const { clock, ringing, stage, began, told } = await planned(ringIn(MINUTE));
    await clock.advance(MINUTE - 1_000);
    ringing.noteContact();
    stage.handleCommand(playOf(`ring-${MINUTE}`, 1));
    await clock.advance(1_000);
    for (let n = 0; n < 20; n++) {
      stage.handlePacket(packetOf(`ring-${MINUTE}`, n));
      await clock.advance(20);
    }
    // It is gone again, and its stream with it: what has sounded does not sound again.
    await clock.advance(MINUTE);
    expect(began).toEqual([MINUTE]);
    expect(told).toEqual(["accepted 1", "started 1", "ended 1"]);
  });

  it("rings nothing again that the agent has rung, by whichever way it comes", async () => {
    const { clock, ringing, stage, began, told } = await planned(ringIn(MINUTE));
    await clock.advance(MINUTE - 300);
    ringing.noteContact();
    stage.handleCommand(playOf(`ring-${MINUTE}`, 1));
    stage.handlePacket(packetOf(`ring-${MINUTE}`, 0));
    await clock.advance(10_000);
    stage.applySettings({ volume: 80, delayMs: 0, zones: [{ group: "239.1.2.3", port: 5_000, priority: 1 }] });
    stage.handlePacket({ ...packetOf(`ring-${MINUTE}`, 0), zone: "239.1.2.3:5000" });
    stage.handleCommand(playOf(`ring-${MINUTE}`, 2));
    await clock.advance(10_000);
    expect(began).toEqual([MINUTE]);
    expect(told).toEqual(["alone 1", "alone 2"]);
  });

  it("is waited for when it said play and no stream came", async () => {
    const { clock, ringing, stage, began } = await planned(ringIn(MINUTE));
    await clock.advance(MINUTE - 1_000);
    ringing.noteContact();
    stage.handleCommand(playOf(`ring-${MINUTE}`, 1));
    await clock.advance(MINUTE);
    expect(began).toHaveLength(1);
    expect(began[0]).toBeGreaterThanOrEqual(MINUTE + 19_000);
  });

  it("keeps something more urgent from being cut off by a ring", async () => {
    const { clock, stage, began, told } = await planned(ringIn(MINUTE));
    await clock.advance(MINUTE - 2_000);
    stage.handleCommand({ ...playOf("emergency", 7), priority: 0 });
    for (let n = 0; n < 200; n++) {
      stage.handlePacket(packetOf("emergency", n));
      await clock.advance(20);
    }
    expect(began).toEqual([MINUTE - 2_000]);
    await clock.advance(10_000);
    expect(told).toEqual(["accepted 7", "started 7", "ended 7"]);
    expect(began).toHaveLength(2);
  });
});

describe("a restart of the agent", () => {
  it("rings by the clock that was learned before, after 20 s of silence", async () => {
    const { clock, restart, began } = await planned(ringIn(MINUTE));
    await restart(10_000);
    await clock.advance(2 * MINUTE);
    expect(began).toEqual([MINUTE]);
  });

  it("around a ring doubles nothing", async () => {
    const { clock, restart, began } = await planned(ringIn(MINUTE));
    await clock.advance(MINUTE - 400);
    await restart(1_000);
    await clock.advance(2 * MINUTE);
    expect(began.length).toBeLessThanOrEqual(1);
    const other = await planned(ringIn(MINUTE));
    await other.clock.advance(MINUTE + 100);
    await other.restart(1_000);
    await other.clock.advance(2 * MINUTE);
    expect(other.began).toEqual([MINUTE]);
  });
});

describe("a clock that is set", () => {
  it("changes nothing as long as the machine runs", async () => {
    const scene = await planned(ringIn(MINUTE), ringIn(5 * MINUTE));
    scene.clock.stepWallClock(-3_600_000);
    await scene.clock.advance(2 * MINUTE);
    expect(scene.began).toEqual([MINUTE]);
    await scene.restart(0);
    scene.clock.stepWallClock(7_200_000);
    await scene.clock.advance(4 * MINUTE);
    expect(scene.began).toEqual([MINUTE, 5 * MINUTE]);
  });

  it("is followed after a start of the machine, and what has sounded is known", async () => {
    const scene = await planned(ringIn(MINUTE), ringIn(5 * MINUTE));
    await scene.restart(0, "machine");
    await scene.clock.advance(2 * MINUTE);
    scene.clock.stepWallClock(-MINUTE);
    await scene.clock.advance(5 * MINUTE);
    expect(scene.began).toEqual([MINUTE, 6 * MINUTE]);
    scene.clock.stepWallClock(-6 * MINUTE);
    await scene.clock.advance(6 * MINUTE);
    expect(scene.began).toHaveLength(2);
  });

  it("to before the plan, or that nobody has set since the machine's start, is not believed", async () => {
    const scene = await planned(ringIn(MINUTE), ringIn(10 * MINUTE));
    scene.isClockSet = false;
    await scene.restart(0, "machine");
    await scene.clock.advance(2 * MINUTE);
    expect(scene.began).toEqual([]);
    expect(scene.log).toContainEqual(expect.stringContaining("clock of this machine is not set"));
    scene.isClockSet = true;
    await scene.clock.advance(10 * MINUTE);
    expect(scene.began).toEqual([10 * MINUTE]);
    const early = await planned(ringIn(MINUTE));
    early.clock.stepWallClock(-365 * 86_400_000);
    await early.restart(0, "machine");
    await early.clock.advance(2 * MINUTE);
    expect(early.began).toEqual([]);
    expect(early.log).toContainEqual(expect.stringContaining("clock of this machine is not set"));
  });
});

describe("a plan", () => {
  it("that has changed replaces the one before, with its sounds", async () => {
    const scene = await planned(ringIn(MINUTE));
    scene.serve([ringIn(2 * MINUTE)]);
    await scene.refresh();
    await scene.clock.advance(3 * MINUTE);
    expect(scene.began).toEqual([2 * MINUTE]);
    scene.serve([]);
    await scene.refresh();
    expect([...scene.files.keys()].filter((name) => name.startsWith("sound-"))).toEqual([]);
  });

  it("of a speaker that is no device any more is forgotten", async () => {
    const scene = await planned(ringIn(MINUTE));
    expect(scene.keeper.status).toMatchObject({ until: expect.any(Number), inOrderAt: expect.any(Number) });
    scene.serveNone();
    await scene.refresh();
    await scene.clock.advance(2 * MINUTE);
    expect([scene.began, scene.keeper.status.until]).toEqual([[], null]);
  });

  it("is in order once all of its sounds are here, which are fetched on from where they were cut off", async () => {
    const scene = await openOfflineRingerFixture();
    scene.failsAt = 3;
    scene.serve([ringIn(MINUTE)]);
    await expect(scene.refresh()).rejects.toThrow("cut off");
    expect([scene.asked, scene.keeper.status.inOrderAt]).toEqual([[0, 1_200, 2_400], null]);
    await scene.refresh();
    expect(scene.asked).toEqual([0, 1_200, 2_400, 2_400]);
    expect(scene.keeper.status.inOrderAt).not.toBeNull();
    await scene.clock.advance(2 * MINUTE);
    expect(scene.samples()).toBe(SOUND.length);
    expect([...scene.files.keys()].filter((name) => name.startsWith("part-"))).toEqual([]);
  });

  it("is held against the greatest number so far, also when none is left", async () => {
    const scene = await planned(ringIn(MINUTE));
    scene.serveNone();
    await scene.refresh();
    scene.serve([ringIn(MINUTE)], { sequence: 0 });
    await scene.restart(0);
    await expect(scene.refresh()).rejects.toThrow("The ring plan is older than the current one.");
  });

  it("with a wrong signature, of another, an older one, or one that has ended is refused in words", async () => {
    const scene = await planned(ringIn(MINUTE));
    const refused = [
      { more: {}, key: KEYS[1], words: "The document is not signed with a trusted key." },
      { more: { deviceIdentifier: "agent:02005E100002" }, words: "The ring plan belongs to another speaker." },
      { more: { sequence: 0 }, words: "The ring plan is older than the current one." },
      { more: { until: 1 }, words: "The ring plan expired on 1970-01-01" },
      { more: { rings: [{}] as never }, words: "Invalid ring plan." },
    ];
    for (const { more, key, words } of refused) {
      scene.serve([ringIn(2 * MINUTE)], more, key);
      await expect(scene.refresh()).rejects.toThrow(words);
    }
    await scene.clock.advance(3 * MINUTE);
    expect(scene.began).toEqual([MINUTE]);
  });

  it("that was tampered with on the disk is left alone at the next start", async () => {
    const scene = await planned(ringIn(MINUTE));
    const { document, ...kept } = JSON.parse(String(scene.files.get("plan.json")));
    const { signature } = JSON.parse(document);
    const payload = Buffer.from("{}").toString("base64");
    scene.files.set(
      "plan.json",
      Buffer.from(JSON.stringify({ ...kept, document: JSON.stringify({ payload, signature }) })),
    );
    await scene.restart(0);
    await scene.clock.advance(2 * MINUTE);
    expect(scene.began).toEqual([]);
    expect(scene.log).toContainEqual(expect.stringContaining("The document is not signed with a trusted key."));
  });

  it("rings nothing after its end", async () => {
    const scene = await openOfflineRingerFixture();
    scene.serve([ringIn(MINUTE)], { until: ringIn(MINUTE).at - 10_000 });
    await scene.refresh();
    await scene.clock.advance(2 * MINUTE);
    expect(scene.began).toEqual([]);
    expect(scene.log).toContainEqual(expect.stringContaining("the plan of rings has ended"));
  });
});
