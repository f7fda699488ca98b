import { request } from "node:http";
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { PluginRequest, PluginRequestHandler } from "../../../src/plugin-api/index.ts";
import { openPluginPort, type PluginPort } from "../../../src/plugin-host/plugin-port.ts";
import { createPortRegistry } from "../../../src/plugin-host/port-registry.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const clock = createFakeClock();
const errors: unknown[] = [];
const open: PluginPort[] = [];
afterEach(async () => {
  errors.splice(0);
  for (const port of open.splice(0)) await port.close();
});

async function listen(handler: PluginRequestHandler, port = 0, publicUrl: string | null = null): Promise<PluginPort> {
  const made = await openPluginPort("auth", { host: "127.0.0.1", port, publicUrl }, handler, {
    clock,
    onError: (error) => void errors.push(error),
  });
  open.push(made);
  return made;
}

describe("an own port", () => {
  it("gives the handler the request as it was sent", async () => {
    const got: PluginRequest[] = [];
    const { url } = await listen((each) => {
      got.push(each);
      return { status: 202, headers: { "X-A": "b" }, body: "grüße" };
    });
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/auth$/);
    const answer = await fetch(`${url}?q=1`, { method: "POST", body: "body", headers: { "X-B": "c" } });
    expect([answer.status, answer.headers.get("x-a"), await answer.text()]).toEqual([202, "b", "grüße"]);
    expect(got[0]).toMatchObject({ method: "POST", url: "/auth?q=1", remoteAddress: "127.0.0.1" });
    expect(got[0]?.headers["x-b"]).toBe("c");
    expect(Buffer.from(got[0]?.body ?? []).toString()).toBe("body");
    await fetch(url);
    expect(got[1]?.body).toEqual(new Uint8Array());
  });

  it("answers 413 to a long body, 500 for a handler that throws, 504 for one that is slow", async () => {
    const { url } = await listen(({ url: path }) => {
      if (path === "/throws") throw new RangeError("in the handler");
      if (path === "/rejects") return Promise.reject(new RangeError("in the handler"));
      return path === "/slow" ? new Promise(() => {}) : { status: 200 };
    });
    const status = async (path: string, body = "x") =>
      (await fetch(new URL(path, url), { method: "POST", body })).status;
    expect(await status("/", "x".repeat(65_536))).toBe(200);
    expect(await status("/", "x".repeat(65_537))).toBe(413);
    expect(await status("/throws")).toBe(500);
    expect(await status("/rejects")).toBe(500);
    expect(errors).toHaveLength(2);
    const slow = status("/slow");
    while (clock.pendingTimers() === 0) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(10_000);
    expect(await slow).toBe(504);
  });

  it("survives callers that go away in the middle of a body", async () => {
    const { port, url } = await listen(() => ({ status: 200 }));
    const socket = connect(port, "127.0.0.1");
    await new Promise((resolve) => socket.once("connect", resolve));
    socket.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf");
    socket.destroy();
    expect((await fetch(url)).status).toBe(200);
  });

  it("is refused when it is taken, and free again once closed", async () => {
    const first = await listen(() => ({ status: 200 }));
    await expect(listen(() => ({ status: 200 }), first.port)).rejects.toThrow(/can't be opened: .*EADDRINUSE/);
    const half = request({ port: first.port, host: "127.0.0.1", method: "POST", path: "/" });
    half.on("error", () => {});
    half.flushHeaders();
    await first.close();
    expect((await listen(() => ({ status: 200 }), first.port)).port).toBe(first.port);
  });

  it("has the public URL of the settings", async () => {
    const url = "https://bell.example.org/phones";
    expect((await listen(() => ({ status: 200 }), 0, url)).url).toBe(url);
  });
});

describe("the book of ports", () => {
  it("asks for a chosen port again, unless a run did not come up with it", () => {
    const book = createPortRegistry({ fixed: { host: "0.0.0.0", port: 80, publicUrl: null } }, ["fixed", "free"]);
    const ports = () => Object.values(book.settings()).map(({ port }) => port);
    expect(book.settings()).toEqual({
      fixed: { host: "0.0.0.0", port: 80, publicUrl: null },
      free: { host: "127.0.0.1", port: 0, publicUrl: null },
    });
    book.opened("free", "http://127.0.0.1:4711/free", 4711);
    book.opened("unknown", "http://127.0.0.1:1/unknown", 1);
    expect(book.urls).toEqual({ free: "http://127.0.0.1:4711/free" });
    book.close({ forget: false });
    expect([book.urls, ports()]).toEqual([{}, [80, 4711]]);
    book.close({ forget: true });
    expect(ports()).toEqual([80, 0]);
  });
});
