import { pbkdf2 } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { extract } from "tar";
import { describe, expect, it } from "vitest";
import { createLog } from "../../../../src/lib/log.ts";
import { collectLogs } from "../../../../src/ops/logs/log-bundle.ts";
import { logFilePaths, openRotatingLog } from "../../../../src/ops/logs/log-files.ts";
import { formatLogLine, tailLogFiles } from "../../../../src/ops/logs/log-reader.ts";
import { maskSecrets } from "../../../../src/ops/logs/secret-masking.ts";
import { makeTempDir } from "../../../support/temp-dir.ts";

describe("secrets in lines", () => {
  it.each([
    ['{"msg":"x","password":"hunter2"}', "hunter2"],
    ['{"msg":"{\\"axlPassword\\":\\"hunter2\\"}"}', "hunter2"],
    ["Authorization: Bearer abcdefghij", "abcdefghij"],
    ['{"token":"carillon_abcdefghijklmnop"}', "abcdefghijklmnop"],
    ["GET /api/authorize?code=abcdef&access_token=ghijkl", "ghijkl"],
    ["http://user:hunter2@10.0.0.1/", "hunter2"],
    ["v1:QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=", "QUJDREVG"],
    ["-----BEGIN PRIVATE KEY-----\nMIGHAgEAM\n-----END", "MIGHAgEAM"],
  ])("are masked: %s", (line, secret) => {
    expect(maskSecrets(line)).toContain("[masked]");
    expect(maskSecrets(line)).not.toContain(secret);
  });

  it("leaves other words unchanged", () => {
    const line = '{"level":30,"msg":"the tokens of 3 users were listed","notificationId":"0190b7c2"}';
    expect(maskSecrets(line)).toBe(line);
  });
});

describe("log files", () => {
  it("rotates full files, keeps six, and reads the last lines across files", async () => {
    const dataDir = makeTempDir();
    for (let run = 0; run < 8; run++) {
      const files = openRotatingLog(dataDir, 300);
      const log = createLog({ stream: files });
      for (let line = 0; line < 5; line++) log[line === 4 ? "warn" : "info"]({ run }, `line ${run}.${line}`);
      files.close();
    }
    expect(readdirSync(join(dataDir, "logs")).length).toBeLessThanOrEqual(6);
    const tail = await tailLogFiles(dataDir, 3);
    expect(tail.map((line) => JSON.parse(line).msg)).toEqual(["line 7.2", "line 7.3", "line 7.4"]);
    const warnings = await tailLogFiles(dataDir, 2, { level: "warn", since: 0 });
    expect(warnings.map((line) => JSON.parse(line).msg)).toEqual(["line 6.4", "line 7.4"]);
    expect(await tailLogFiles(dataDir, 9, { text: "LINE 7.1" })).toHaveLength(1);
    expect(formatLogLine(warnings[1] as string)).toMatch(
      /^\d{4}-\d\d-\d\d [\d:.]{12} warn {2}line 7\.4 {2}\{"run":7\}$/,
    );
    const steering = formatLogLine(JSON.stringify({ level: 40, msg: "a\u001b[2J", name: "b\u009b2J" }));
    expect(steering).toBe(String.raw` warn  a\u001b[2J  {"name":"b\u009b2J"}`);
  });

  it("keeps the order of lines when it is closed while other threads are busy", async () => {
    const dataDir = makeTempDir();
    const files = openRotatingLog(dataDir);
    const log = createLog({ stream: files });
    // As many as threads write in the background, unless the environment says otherwise.
    const busy = Array.from({ length: 4 }, () => promisify(pbkdf2)("x", "y", 20_000, 32, "sha256"));
    for (let line = 0; line < 3; line++) log.info({}, `line ${line}`);
    files.close();
    const tail = await tailLogFiles(dataDir, 9);
    expect(tail.map((line) => JSON.parse(line).msg)).toEqual(["line 0", "line 1", "line 2"]);
    await Promise.all(busy);
  });

  it("loses lines rather than memory while the disk does not keep up", async () => {
    const dataDir = makeTempDir();
    const files = openRotatingLog(dataDir);
    const line = `${JSON.stringify({ level: 30, msg: "x".repeat(1_000) })}\n`;
    // No write ends before the event loop turns.
    for (let count = 0; count < 40_000; count++) files.write(line);
    files.close();
    const sizes = logFilePaths(dataDir).map((path) => (existsSync(path) ? statSync(path).size : 0));
    const written = sizes.reduce((sum, size) => sum + size, 0);
    expect(written).toBeGreaterThan(8_000_000);
    expect(written).toBeLessThan(9_000_000);
    const again = openRotatingLog(dataDir);
    again.write('{"level":30,"msg":"later"}\n');
    again.close();
    expect(JSON.parse((await tailLogFiles(dataDir, 1))[0] as string).msg).toBe("later");
  });

  it("collects the log without secrets", async () => {
    const dataDir = makeTempDir();
    await mkdir(join(dataDir, "logs"));
    writeFileSync(logFilePaths(dataDir)[0] as string, '{"level":40,"msg":"refused","password":"hunter2"}\n');
    const target = join(makeTempDir(), "bundle.tar.gz");
    await collectLogs(dataDir, target, { state: { snmpCommunity: "hunter2", status: "GREEN" } });
    const into = makeTempDir();
    await extract({ file: target, cwd: into });
    expect(readdirSync(into).sort()).toEqual(["carillon.log", "state.json"]);
    for (const name of readdirSync(into)) {
      expect(readFileSync(join(into, name), "utf8")).toContain("[masked]");
      expect(readFileSync(join(into, name), "utf8")).not.toContain("hunter2");
    }
  });
});
