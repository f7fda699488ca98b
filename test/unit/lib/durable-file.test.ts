import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { replaceFile, syncFolder, syncFolderNow } from "../../../src/lib/durable-file.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const modeOf = (path: string): number => statSync(path).mode & 0o777;

describe("replacing a file", () => {
  it("makes it, and replaces it as a whole", () => {
    const path = join(makeTempDir(), "list.json");
    replaceFile(path, "a long first text");
    expect([readFileSync(path, "utf8"), modeOf(path)]).toEqual(["a long first text", 0o600]);
    replaceFile(path, Buffer.from("second"), { mode: 0o644 });
    expect([readFileSync(path, "utf8"), modeOf(path)]).toEqual(["second", 0o644]);
  });

  it("leaves the old file when the new one can't be finished", () => {
    const folder = makeTempDir();
    const path = join(folder, "settings.yaml");
    replaceFile(path, "old");
    const refuse = (): never => {
      throw new Error("not permitted");
    };
    expect(() => replaceFile(path, "new", { prepare: refuse })).toThrow("not permitted");
    expect(readFileSync(path, "utf8")).toBe("old");
  });

  it("is not hindered by what an interrupted attempt left, nor readable before it is finished", () => {
    const folder = makeTempDir();
    const path = join(folder, "key");
    writeFileSync(`${path}.new`, "half", { mode: 0o600 });
    const modes: number[] = [];
    replaceFile(path, "whole", { mode: 0o644, prepare: (temporary) => void modes.push(modeOf(temporary)) });
    expect([readFileSync(path, "utf8"), modes, readdirSync(folder)]).toEqual(["whole", [0o600], ["key"]]);
  });
});

describe("flushing a folder", () => {
  it("rejects for one that is not there", async () => {
    const missing = join(makeTempDir(), "missing");
    await expect(syncFolder(missing)).rejects.toThrow("ENOENT");
    expect(() => syncFolderNow(missing)).toThrow("ENOENT");
    await syncFolder(makeTempDir());
  });
});
