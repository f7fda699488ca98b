import { parentPort } from "node:worker_threads";
import { SAMPLE_RATE_HZ } from "../../src/media/samples.ts";
import { isHeard, listenInRoom } from "../support/listen-in-room.ts";
import { syntheticRoom } from "../support/synthetic-room.ts";
import type { RoomResult, RoomTask } from "./heard.ts";
import { detectByLevel } from "./heard-level-rule.ts";

/** A thread that builds rooms and listens in them. */
parentPort?.on("message", ({ seed, isPlanted }: RoomTask) => {
  const room = syntheticRoom(seed);
  const before = process.threadCpuUsage();
  const detection = isPlanted ? detectByLevel(room.recorded) : listenInRoom(room);
  const { user, system } = process.threadCpuUsage(before);
  parentPort?.postMessage({
    ...{ seed, plays: room.plays, sound: room.sound, snrDb: room.snrDb, noises: room.noises },
    ...{ reverberationS: room.reverberationS, delayMs: room.delayMs, detection, isHeard: isHeard(detection) },
    cpuMsPerS: (user + system) / 1_000 / (room.recorded.length / SAMPLE_RATE_HZ),
  } satisfies RoomResult);
});
