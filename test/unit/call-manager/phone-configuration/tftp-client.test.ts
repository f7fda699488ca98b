import { afterEach, describe, expect, it } from "vitest";
import { readTftpFile } from "../../../../src/call-manager/phone-configuration/tftp-client.ts";
import type { TftpError } from "../../../../src/call-manager/phone-configuration/tftp-error.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { createSsrfGuard } from "../../../../src/lib/ssrf-guard.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import {
  data,
  failure,
  options,
  type ScriptedTftpServer,
  type ScriptedTransfer,
  startScriptedTftpServer,
} from "./scripted-tftp-server.ts";

const FILE = "SEP02CA00000000.cnf.xml";
const policy = createSsrfGuard({ allowedTargets: ["127.0.0.0/8"] });
const ACK = (block: number): string => `0004${block.toString(16).padStart(4, "0")}`;

let server: ScriptedTftpServer | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

async function read(
  play: (transfer: ScriptedTransfer, request: number) => Promise<void> | void,
  deps: Partial<Parameters<typeof readTftpFile>[2]> = {},
): Promise<string | TftpError["code"]> {
  server = await startScriptedTftpServer(play);
  const { signal } = new AbortController();
  return readTftpFile({ host: "127.0.0.1", port: server.port }, FILE, {
    policy,
    clock: systemClock,
    signal,
    ...deps,
  }).then(
    (content) => content.toString(),
    (error: TftpError) => error.code,
  );
}

describe("reading a file by TFTP", () => {
  it("negotiates the block size and the size, and acknowledges every block", async () => {
    const acknowledged: string[] = [];
    const content = await read(async (transfer) => {
      transfer.send(options("blksize\x001428\0tsize\x001430\0"));
      acknowledged.push(await transfer.next());
      transfer.send(data(1, "a".repeat(1428)));
      acknowledged.push(await transfer.next());
      transfer.send(data(2, "bc"));
      acknowledged.push(await transfer.next());
    });
    expect(content).toBe(`${"a".repeat(1428)}bc`);
    await expect.poll(() => acknowledged).toEqual([ACK(0), ACK(1), ACK(2)]);
    expect(server?.requests).toEqual([[FILE, "blksize", "1428", "tsize", "0"]]);
  });

  it("reads blocks of 512 bytes from a server that knows no options", async () => {
    const content = await read(async (transfer) => {
      transfer.send(data(1, "a".repeat(512)));
      expect(await transfer.next()).toBe(ACK(1));
      transfer.send(data(2, ""));
    });
    expect(content).toBe("a".repeat(512));
  });

  it.each([
    [8, "options"],
    [0, "undefined"],
    [4, "illegal"],
  ])("asks once more without options after error %i", async (code, message) => {
    const content = await read((transfer, request) =>
      transfer.send(request === 1 ? failure(code, message) : data(1, "plain")),
    );
    expect(content).toBe("plain");
    expect(server?.requests[1]).toEqual([FILE]);
  });

  it("takes a smaller block size, names in capitals and a missing last zero byte", async () => {
    const content = await read(async (transfer) => {
      transfer.send(options("BLKSIZE\x008"));
      await transfer.next();
      transfer.send(data(1, "12345678"));
      await transfer.next();
      transfer.send(data(2, "9"));
    });
    expect(content).toBe("123456789");
  });

  it("acknowledges repeated options and blocks again, and drops strays", async () => {
    const acknowledged: string[] = [];
    const content = await read(async (transfer) => {
      for (const packet of [options("blksize\x008\0"), options("blksize\x008\0")]) {
        transfer.send(packet);
        acknowledged.push(await transfer.next());
      }
      transfer.send(data(7, "from far"));
      transfer.send(Buffer.from([0]));
      transfer.send(Buffer.from([0, 9, 0, 1]));
      for (const packet of [data(1, "12345678"), data(1, "12345678"), data(2, "9")]) {
        transfer.send(packet);
        acknowledged.push(await transfer.next());
      }
    });
    expect(content).toBe("123456789");
    await expect.poll(() => acknowledged).toEqual([ACK(0), ACK(0), ACK(1), ACK(1), ACK(2)]);
  });

  it("tells another port that it knows no such transfer, and goes on", async () => {
    const content = await read(async (transfer) => {
      transfer.send(options("blksize\x008\0"));
      await transfer.next();
      expect(await transfer.sendFromElsewhere(data(1, "forged"))).toBe("00050005");
      transfer.send(data(1, "true"));
    });
    expect(content).toBe("true");
  });

  it.each([
    ["no-file", failure(1, "File not found")],
    ["refused", failure(2, "Access violation")],
    ["answer", options("blksize\x009000\0")],
    ["answer", options("blksize\x004\0")],
    ["answer", options("blksize\0ten\0")],
    ["answer", options("windowsize\x004\0")],
    ["answer", data(1, "a".repeat(513))],
    ["too-large", options("blksize\x001428\0tsize\x001048577\0")],
  ])("ends with %s", async (code, packet) => {
    expect(await read((transfer) => transfer.send(packet))).toBe(code);
  });

  it("is not taken in by a size that differs from what was sent", async () => {
    const code = await read(async (transfer) => {
      transfer.send(options("tsize\x0010\0"));
      await transfer.next();
      transfer.send(data(1, "short"));
    });
    expect(code).toBe("answer");
  });

  it("stops a server that sends without end", async () => {
    const block = Buffer.alloc(1428);
    let sent = 0;
    const code = await read(async (transfer) => {
      transfer.send(options("blksize\x001428\0"));
      for (; (await transfer.next()).startsWith("0004"); ) transfer.send(data(++sent, block));
    });
    expect(code).toBe("too-large");
    expect(sent).toBe(735);
  });

  it("asks three times, and gives up", async () => {
    const clock = createFakeClock();
    const reading = read(() => undefined, { clock });
    for (const [requests, timeoutMs] of [
      [1, 1_000],
      [2, 1_500],
      [3, 2_500],
    ] as const) {
      await expect.poll(() => server?.requests.length).toBe(requests);
      await clock.advance(timeoutMs);
    }
    expect(await reading).toBe("timeout");
  });

  it("is not kept waiting by repeated packets", async () => {
    const clock = createFakeClock();
    let acknowledged = 0;
    const reading = read(
      async (transfer) => {
        for (;;) {
          transfer.send(options("blksize\x008\0"));
          if (!(await transfer.next()).startsWith("0004")) return;
          acknowledged++;
        }
      },
      { clock },
    );
    await expect.poll(() => acknowledged).toBeGreaterThan(3);
    await clock.advance(15_000);
    expect(await reading).toBe("timeout");
  });

  it("asks no address that the policy refuses", async () => {
    const code = await read(() => undefined, { policy: createSsrfGuard({ allowedTargets: [] }) });
    expect([code, server?.requests]).toEqual(["dns", []]);
  });

  it("ends with its signal", async () => {
    const abortController = new AbortController();
    const reading = read(() => abortController.abort(), { signal: abortController.signal });
    expect(await reading).toBe("stopped");
    const { signal } = abortController;
    expect(await read(() => undefined, { signal })).toBe("stopped");
  });
});
