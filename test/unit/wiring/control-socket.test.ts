import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { invalidValue } from "../../../src/lib/errors.ts";
import { silentLog } from "../../../src/lib/log.ts";
import type { ControlCommand } from "../../../src/wiring/control-commands.ts";
import { sendControlCommand, startControlSocket } from "../../../src/wiring/control-socket.ts";
import { makeTempDir } from "../../support/temp-dir.ts";

const ORDERS: Record<string, ControlCommand> = {
  echo: async (args) => args,
  refuse: async () => {
    throw invalidValue("name", "It is taken.");
  },
  break: async () => {
    throw new TypeError("broken");
  },
  many: async () => Array.from({ length: 5_000 }, (_, index) => `${index}-${"x".repeat(100)}`),
};

async function withSocket(dataDir: string, use: () => Promise<void>): Promise<void> {
  const socket = await startControlSocket(dataDir, ORDERS, silentLog);
  try {
    await use();
  } finally {
    await socket.stop();
  }
}

/** Writes raw text and gives everything that comes back until the daemon ends the connection. */
function talk(dataDir: string, text: string, answers: number): Promise<string[]> {
  return new Promise((resolve, reject) => {
    let heard = "";
    const socket = connect(join(dataDir, "control.sock"), () => socket.write(text));
    socket.setEncoding("utf8");
    socket.on("error", reject);
    socket.on("data", (more: string) => {
      heard += more;
      if (heard.split("\n").length > answers) socket.end();
    });
    socket.on("close", () => resolve(heard.trimEnd().split("\n")));
  });
}

describe("control socket", () => {
  it("carries orders and answers, long ones too, and belongs to its user alone", async () => {
    const dataDir = makeTempDir();
    await withSocket(dataDir, async () => {
      expect(statSync(join(dataDir, "control.sock")).mode & 0o777).toBe(0o600);
      expect(await sendControlCommand(dataDir, { order: "echo", args: { a: [1, "ü\n"] } })).toEqual({
        result: { a: [1, "ü\n"] },
      });
      const many = await sendControlCommand(dataDir, { order: "many", args: {} });
      expect(many?.result).toHaveLength(5_000);
    });
    expect(await sendControlCommand(dataDir, { order: "echo", args: {} })).toBeNull();
  });

  it("tells what is refused and what broke", async () => {
    const dataDir = makeTempDir();
    await withSocket(dataDir, async () => {
      await expect(sendControlCommand(dataDir, { order: "refuse", args: {} })).rejects.toMatchObject({
        type: "invalid-value",
        message: "Field name is not valid. It is taken.",
      });
      await expect(sendControlCommand(dataDir, { order: "break", args: {} })).rejects.toMatchObject({
        type: "upstream",
      });
      await expect(sendControlCommand(dataDir, { order: "constructor", args: {} })).rejects.toMatchObject({
        type: "not-found",
      });
    });
  });

  it("answers line by line in order, bad lines too", async () => {
    const dataDir = makeTempDir();
    await withSocket(dataDir, async () => {
      const lines = [
        '{"order":"echo","args":{"n":1}}',
        "nonsense",
        "null",
        '{"order":"echo","args":[]}',
        '{"order":"echo"}',
      ];
      const answers = await talk(dataDir, `${lines.join("\n")}\n`, lines.length);
      expect(answers.map((line) => Object.keys(JSON.parse(line))[0])).toEqual([
        "result",
        "fault",
        "fault",
        "fault",
        "result",
      ]);
    });
  });

  it.each([
    ["one endless line", "x".repeat(70_000)],
    ["a long line with an end", `${"x".repeat(70_000)}\n{"order":"echo"}\n`],
  ])("ends the connection after %s", async (_what, text) => {
    const dataDir = makeTempDir();
    await withSocket(dataDir, async () => {
      const answers = await talk(dataDir, text, 10);
      expect(answers.map((line) => JSON.parse(line))).toEqual([
        { fault: { type: "too-large", message: expect.stringContaining("65536") } },
      ]);
    });
  });

  it("replaces what a killed daemon left behind", async () => {
    const dataDir = makeTempDir();
    writeFileSync(join(dataDir, "control.sock"), "");
    await withSocket(dataDir, async () => {
      expect(await sendControlCommand(dataDir, { order: "echo", args: {} })).toEqual({ result: {} });
    });
  });

  it("works in folders with long names", async () => {
    const dataDir = join(makeTempDir(), "n".repeat(100), "m".repeat(100));
    mkdirSync(dataDir, { recursive: true });
    await withSocket(dataDir, async () => {
      expect(await sendControlCommand(dataDir, { order: "echo", args: {} })).toEqual({ result: {} });
      expect(statSync(join(dataDir, "control.sock")).mode & 0o777).toBe(0o600);
    });
  });
});
