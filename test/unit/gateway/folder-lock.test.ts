import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { lockFolder } from "../../../src/gateway/folder-lock.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

it("gives a folder to one process at a time, and says which has it", () => {
  const folder = makeTempDir();
  const release = lockFolder(folder);
  expect(() => lockFolder(folder)).toThrow(`Process ${process.pid} serves the organisations in ${folder}.`);
  expect(readdirSync(folder)).toEqual(["front.lock"]);
  release();
  expect(readdirSync(folder)).toEqual([]);
  lockFolder(folder)();
});

it("takes a folder whose process was killed, or has another's number by now, and none that another one has", async () => {
  const folder = makeTempDir();
  const lock = join(folder, "front.lock");
  const child = spawn(process.execPath, ["-e", "setInterval(() => undefined, 1e6)"], { stdio: "ignore" });
  await once(child, "spawn");
  const began = readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ").at(-1)?.split(" ")[19];
  writeFileSync(lock, `${child.pid} ${began}`);
  expect(() => lockFolder(folder)).toThrow(`Process ${child.pid} `);
  child.kill("SIGKILL");
  await once(child, "close");
  const release = lockFolder(folder);
  writeFileSync(lock, `${child.pid} ${began}`);
  // What is another's is not released.
  release();
  expect(existsSync(lock)).toBe(true);
  for (const left of [`${process.pid} 1`, "", "words"]) {
    writeFileSync(lock, left);
    lockFolder(folder)();
    expect(readdirSync(folder)).toEqual([]);
  }
});
