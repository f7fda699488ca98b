import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { startHttpServer } from "../../../src/http/http-server.ts";
import { systemClock } from "../../../src/lib/clock.ts";

describe("main server", () => {
  it("responds `starting` until a request listener is set", async () => {
    const server = await startHttpServer({ host: "127.0.0.1", port: 0 }, systemClock);
    const early = await fetch(server.url);
    expect([early.status, early.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await early.json()).toMatchObject({ status: 503, type: "starting" });
    server.setRequestListener((_request, response) => response.end("open"));
    expect(await (await fetch(server.url)).text()).toBe("open");
    await server.stop();
    await expect(fetch(server.url)).rejects.toThrow();
  });

  it("returns a reachable URL", async () => {
    const server = await startHttpServer({ host: "0.0.0.0", port: 0 }, systemClock);
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    await server.stop();
  });

  it("keeps idle connections longer than proxies do", async () => {
    const server = await startHttpServer({ host: "127.0.0.1", port: 0 }, systemClock);
    server.setRequestListener((_request, response) => response.end());
    expect((await fetch(server.url)).headers.get("keep-alive")).toBe("timeout=65");
    await server.stop();
  });

  it("rejects when the address is taken", async () => {
    const server = await startHttpServer({ host: "127.0.0.1", port: 0 }, systemClock);
    const port = Number(new URL(server.url).port);
    await expect(startHttpServer({ host: "127.0.0.1", port }, systemClock)).rejects.toMatchObject({
      code: "EADDRINUSE",
    });
    await server.stop();
  });

  it("stops even if a client never completes its request", async () => {
    const server = await startHttpServer({ host: "127.0.0.1", port: 0 }, systemClock);
    const hanging = new Promise<void>((resolve) => server.setRequestListener(() => resolve()));
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf");
    await hanging;
    const closed = new Promise((resolve) => socket.on("close", resolve));
    socket.on("error", () => undefined);
    await server.stop();
    await closed;
  });

  it("passes WebSocket upgrades on and responds normally to other upgrade offers", async () => {
    const server = await startHttpServer({ host: "127.0.0.1", port: 0 }, systemClock);
    server.setRequestListener(
      (request, response) => {
        request.setEncoding("utf8").on("data", (body: string) => response.end(`answered ${body}`));
      },
      (_request, socket) => socket.end("handed on"),
    );
    const ask = async (upgrade: string): Promise<string> => {
      const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
      let text = "";
      socket.setEncoding("utf8").on("data", (part) => {
        text += part;
        if (/answered|handed/.test(text)) socket.destroy();
      });
      const head = `POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: ${upgrade}\r\nContent-Length: 4`;
      socket.write(`${head}\r\n\r\nbody`);
      await new Promise((resolve) => socket.on("close", resolve));
      return text;
    };
    expect(await ask("h2c")).toMatch(/^HTTP\/1.1 200 [\s\S]*answered body/);
    expect(await ask("WebSocket")).toBe("handed on");
    await server.stop();
  });
});
