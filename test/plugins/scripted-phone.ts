import { type AddressInfo, createServer, type Socket } from "node:net";
import type { SimulatorDevice } from "./simulator-fixture.ts";

/** A phone that answers each request with the next text of a script, byte by byte what the script says. */
export interface ScriptedPhone {
  readonly device: SimulatorDevice;
  /** Every request so far: head and body. */
  readonly requests: readonly string[];
  /** Resolves when `count` requests have come. */
  asked(count: number): Promise<void>;
  stop(): Promise<void>;
}

/** What the phone does with one request: answers with a text (after something else) and closes, or says nothing at all. */
export type ScriptedResponse = string | (() => Promise<string>) | "silence";

/** Starts the phone; after the last line it repeats that line. */
export async function startScriptedPhone(...script: readonly ScriptedResponse[]): Promise<ScriptedPhone> {
  const requests: string[] = [];
  const open = new Set<Socket>();
  const waiting = new Set<() => void>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    socket.on("error", () => {});
    let request = "";
    socket.on("data", (part) => {
      request += part.toString("utf8");
      if (!isWhole(request)) return;
      const line = script[Math.min(requests.length, script.length - 1)] ?? "silence";
      requests.push(request);
      for (const look of [...waiting]) look();
      if (typeof line === "function") void line().then((text) => socket.end(text));
      else if (line !== "silence") socket.end(line);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    device: {
      type: "phones",
      deviceIdentifier: "SEP00CA000000AA",
      description: "Scripted",
      attributes: { IPAddress: "127.0.0.1", HttpPort: String(port), DeviceProduct: "Cisco 8845" },
    },
    requests,
    asked: (count) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (requests.length < count) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

function isWhole(request: string): boolean {
  const end = request.indexOf("\r\n\r\n");
  const length = Number(/^content-length: (\d+)/im.exec(request)?.[1] ?? 0);
  return end >= 0 && Buffer.byteLength(request.slice(end + 4)) >= length;
}

/** An answer with status 200. */
export function okResponse(body: string): string {
  return `HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** A phone's word on items, each `[status, data, url]`. */
export function itemsResponse(...items: readonly (readonly [number, string, string])[]): string {
  const lines = items.map(([status, data, url]) => `<ResponseItem Status="${status}" Data="${data}" URL="${url}"/>`);
  return okResponse(`<?xml version="1.0"?><CiscoIPPhoneResponse>${lines.join("")}</CiscoIPPhoneResponse>`);
}
