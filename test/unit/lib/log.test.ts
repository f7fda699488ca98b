import { describe, expect, it } from "vitest";
import { createLog, silentLog } from "../../../src/lib/log.ts";

function logInto(lines: string[], level?: string) {
  return createLog({ ...(level ? { level } : {}), stream: { write: (line: string) => void lines.push(line) } });
}

describe("log", () => {
  it("writes one JSON object per line with the given fields", () => {
    const lines: string[] = [];
    logInto(lines).info({ stage: "deliver", count: 3 }, "delivered");
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ stage: "deliver", count: 3, msg: "delivered", level: 30 });
  });

  it("never writes a secret, at any of the first three levels", () => {
    const lines: string[] = [];
    const secrets = { password: "hunter2", token: "hunter2", authorization: "hunter2", config: { key: "hunter2" } };
    logInto(lines).warn({ ...secrets, user: { ...secrets }, request: { headers: { ...secrets } } }, "x");
    logInto(lines)
      .child({ ...secrets, plugin: "x" })
      .info("of a child");
    logInto(lines).error({ err: Object.assign(new TypeError("broken"), { ...secrets, context: secrets }) }, "failed");
    logInto(lines).error({ err: null, list: [secrets, "kept"] }, "nothing failed");
    expect(lines.join()).not.toContain("hunter2");
    expect(lines.map((line) => line.includes("[redacted]"))).toEqual([true, true, true, true]);
    expect(JSON.parse(lines[2] ?? "")).toMatchObject({ err: { type: "TypeError", message: "broken" } });
    expect(JSON.parse(lines[3] ?? "")).toMatchObject({ err: null, list: [{ token: "[redacted]" }, "kept"] });
    expect(secrets.password).toBe("hunter2");
  });

  it.each(["password", "token", "access_token", "accessToken", "authorization", "cookie", "secret", "config"])(
    "redacts the key %s on three levels, and copies nothing deeper",
    (key) => {
      const lines: string[] = [];
      const deep = { [key]: "kept" };
      logInto(lines).info({ [key]: "one", a: { [key]: "two", b: { [key]: "three", c: deep } } }, "x");
      const redacted = { [key]: "[redacted]" };
      expect(JSON.parse(lines[0] ?? "")).toMatchObject({
        ...redacted,
        a: { ...redacted, b: { ...redacted, c: deep } },
      });
    },
  );

  it("drops entries below its level", () => {
    const lines: string[] = [];
    const log = logInto(lines, "warn");
    log.info("quiet");
    log.warn("loud");
    expect(lines).toHaveLength(1);
    silentLog.fatal("nothing at all");
  });
});
