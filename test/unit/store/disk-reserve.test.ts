import { existsSync, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import type Database from "better-sqlite3";
import { describe, expect, it, vi } from "vitest";
import { createDiskReserve } from "../../../src/store/disk-reserve.ts";
import type { Replica } from "../../../src/store/replica.ts";
import { WriteQueue } from "../../../src/store/write-queue.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const BYTES = 3_000_000;

describe("disk reserve", () => {
  it("allocates, releases once and allocates again", async () => {
    const path = join(makeTempDir(), "spare-room");
    const room = createDiskReserve(path, BYTES);
    expect(room.release()).toBe(false);
    await room.allocate();
    expect(statSync(path)).toMatchObject({ size: BYTES });
    expect(statSync(path).blocks * 512).toBeGreaterThanOrEqual(BYTES);
    await room.allocate();
    expect([room.release(), room.release(), existsSync(path)]).toEqual([true, false, false]);
    await room.allocate();
    expect(room.release()).toBe(true);
  });

  it("does not allocate if it would fill the disk or cannot write", async () => {
    const path = join(makeTempDir(), "spare-room");
    await createDiskReserve(path, Number.MAX_SAFE_INTEGER).allocate();
    expect(existsSync(path)).toBe(false);
    await createDiskReserve(join(path, "nowhere"), BYTES).allocate();
    expect(existsSync(path)).toBe(false);
  });

  it("leaves no partial file, for example under a quota", async () => {
    const folder = makeTempDir();
    const other = await open(join(folder, "other"), "w");
    const quota = Object.assign(new RangeError("over quota"), { code: "EDQUOT" });
    const whole = { bytesWritten: 1_048_576, buffer: new Uint8Array() };
    const handles = Object.getPrototypeOf(other) as FileHandle;
    const write = vi
      .spyOn(handles, "write")
      .mockResolvedValueOnce(whole as never)
      .mockRejectedValueOnce(quota);
    const path = join(folder, "spare-room");
    await createDiskReserve(path, BYTES).allocate();
    expect(write).toHaveBeenCalledTimes(2);
    expect(existsSync(path)).toBe(false);
    write.mockRestore();
    await other.close();
  });
});

describe("full disk", () => {
  const full = (replica?: (need: () => void) => Replica) => {
    const disk = { isFull: true, rooms: 1, commits: 0 };
    const need = (): void => {
      if (disk.isFull) throw Object.assign(new RangeError("full"), { code: "SQLITE_FULL" });
    };
    const commit = (): void => {
      need();
      disk.commits++;
    };
    const prepare = (sql: string) => ({ run: sql === "COMMIT" ? commit : () => {} });
    const queue = new WriteQueue({
      db: { inTransaction: true, exec: () => {}, prepare } as unknown as Database.Database,
      clock,
      beforeCommit: () => false,
      checkpoint: { isDue: () => false, run: () => false },
      onRollback: () => {},
      onFatal: () => {},
      ...(replica && { replica: replica(need) }),
      diskReserve: {
        release() {
          if (disk.rooms === 0) return false;
          disk.rooms--;
          disk.isFull = false;
          return true;
        },
      },
    });
    const told: string[] = [];
    const write = (lane: "normal" | "emergency") =>
      queue.write(
        () => lane,
        () => told.push(lane),
        lane,
      );
    return { disk, queue, told, write };
  };
  const clock = createFakeClock();

  it("accepts emergency writes in the released reserve once and refuses others before", async () => {
    const { disk, queue, told, write } = full();
    await expect(write("normal")).rejects.toMatchObject({ type: "storage-full" });
    expect(disk.rooms).toBe(1);
    await expect(write("emergency")).resolves.toBe("emergency");
    expect([disk.rooms, disk.commits, told]).toEqual([0, 1, ["emergency"]]);
    disk.isFull = true;
    await expect(write("emergency")).rejects.toMatchObject({ type: "storage-full" });
    await queue.stop();
  });

  it("applies replicated rows in the reserve only for emergency writes", async () => {
    const turn = { publish: async () => {}, confirm: () => {}, abort: async () => {} };
    const rowsOfOthers = (need: () => void): Replica => ({
      catchUp: async () => {},
      beginWrite: async () => {
        need();
        return turn;
      },
    });
    const { disk, queue, write } = full(rowsOfOthers);
    await expect(write("emergency")).resolves.toBe("emergency");
    expect(disk.rooms).toBe(0);
    Object.assign(disk, { isFull: true, rooms: 1 });
    await expect(write("normal")).rejects.toMatchObject({ type: "storage-full" });
    expect(disk.rooms).toBe(1);
    await queue.stop();
  });
});
