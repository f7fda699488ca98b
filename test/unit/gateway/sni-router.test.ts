import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectSecurely } from "node:tls";
import { expect, it } from "vitest";
import { startSniRouter } from "../../../src/gateway/sni-router.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const MAX_SILENT = 500;

it("closes connections of one address with many silent connections, and no others", async () => {
  // Nobody's patience ends.
  const front = await startSniRouter({ host: "127.0.0.1", port: 0 }, () => null, 2_000, createFakeClock());
  const { port } = front;
  const come = (localAddress: string): Socket => connect({ host: "127.0.0.1", port, localAddress });
  const isServed = async (localAddress: string): Promise<boolean> => {
    const client = connectSecurely({ socket: come(localAddress), servername: "nobody.test" });
    const [error] = await once(client, "error").catch((fault: unknown) => [fault]);
    return /unrecognized.name/i.test(String(error));
  };
  const silent: Socket[] = [];
  for (let number = 0; number < MAX_SILENT; number += 1) {
    const socket = come("127.0.0.2");
    await once(socket, "connect");
    silent.push(socket);
  }
  const oneMore = come("127.0.0.2");
  await once(oneMore.on("error", () => undefined).resume(), "close");
  expect(await isServed("127.0.0.3")).toBe(true);
  const [first] = silent as [Socket];
  first.destroy();
  await expect.poll(() => isServed("127.0.0.2")).toBe(true);
  for (const socket of silent) socket.destroy();
  await front.stop();
}, 120_000);
