import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { requestPhone, urlOf } from "./simulator-fixture.ts";

const MAIN = fileURLToPath(new URL("../../../dist/src/campus/main.js", import.meta.url));
const children: ChildProcess[] = [];

function run(...argv: string[]): {
  child: ChildProcess;
  lines: string[];
  exit: Promise<number | null>;
  words: () => string;
} {
  const child = spawn(process.execPath, [MAIN, ...argv], { stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  const lines: string[] = [];
  let complaint = "";
  if (child.stdout) createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  child.stderr?.on("data", (part) => {
    complaint += part;
  });
  const exit = once(child, "close").then(([code]) => code as number | null);
  return { child, lines, exit, words: () => complaint };
}

describe("the campus as a process", () => {
  afterEach(() => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
  });

  it("says that it is ready, and reports on SIGTERM as its last line", async () => {
    const { child, lines, exit, words } = run("--phones", "3", "--zones", "2", "--offline", "1", "--seed", "4");
    while (lines.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const ready = JSON.parse(lines[0] ?? "");
    expect(ready.event).toBe("ready");
    expect(ready.devices.map((device: { type: string }) => device.type)).toEqual([
      "phones",
      "phones",
      "phones",
      "speakers",
      "speakers",
    ]);
    expect((await requestPhone(`${ready.control}/report`)).status).toBe(200);
    const answers = await Promise.all(
      [0, 1, 2].map((n) => requestPhone(urlOf(ready.devices[n], "/DeviceInformationX"))),
    );
    expect(answers.filter((answer) => answer.error === "ECONNRESET")).toHaveLength(1);
    child.kill("SIGTERM");
    expect(await exit).toBe(0);
    expect(lines).toHaveLength(2);
    const report = JSON.parse(lines[1] ?? "");
    expect([report.phones.length, report.zones.length]).toEqual([3, 2]);
    expect(Object.keys(report.phones[0])).toEqual(
      expect.arrayContaining(
        "deviceIdentifier joinedAt leftAt firstPacketAt packets lost payloadSha256 exact pushes authCalls pages errors".split(
          " ",
        ),
      ),
    );
    expect(words()).toBe("");
  });

  it("explains itself, and refuses what it does not understand with exit code 2", async () => {
    const help = run("--help");
    expect(await help.exit).toBe(0);
    expect(help.lines.join("\n")).toContain("--latency fixed:MS");
    const wrong = run("--phones", "some");
    expect(await wrong.exit).toBe(2);
    expect(wrong.words()).toContain("phones");
    expect(wrong.lines).toEqual([]);
  });
});
