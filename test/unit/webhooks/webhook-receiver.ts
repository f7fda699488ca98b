import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import { vi } from "vitest";

/** A call as it came in. */
export interface ReceivedCall {
  method: string;
  headers: IncomingHttpHeaders;
  body: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  json: any;
}

/** Somebody's program that receives webhooks over real HTTP. */
export interface WebhookReceiver {
  url: string;
  calls: ReceivedCall[];
  /** Answers each call; 204 unless a test says otherwise. */
  answer: (response: ServerResponse, received: ReceivedCall) => void;
  /** Resolves with the call of that number, counted from 1. */
  call(number: number): Promise<ReceivedCall>;
  /** Connections made so far. */
  connections(): number;
  /** Closes those that no call uses. */
  closeIdle(): void;
  close(): Promise<void>;
}

/** Starts a receiver on a free port of the loopback address. */
export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const waiting = new Set<() => void>();
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const body = Buffer.concat(parts).toString("utf8");
      const isJson = request.headers["content-type"]?.startsWith("application/json") ?? false;
      const { method = "", headers } = request;
      const received = { method, headers, body, json: isJson ? JSON.parse(body) : null };
      receiver.calls.push(received);
      receiver.answer(response, received);
      for (const look of waiting) look();
    });
  });
  let connections = 0;
  server.on("connection", () => {
    connections++;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    calls: [],
    answer: (response) => void response.writeHead(204).end(),
    call(number) {
      return new Promise((resolve) => {
        const look = (): void => {
          const found = receiver.calls[number - 1];
          if (!found) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      });
    },
    connections: () => connections,
    closeIdle: () => server.closeIdleConnections(),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}

/** Checks a call with the specification's own package, at the moment `now` (epoch ms); throws when it is not right. */
export function verify(secret: string, { headers, body }: ReceivedCall, now: number): unknown {
  vi.useFakeTimers({ toFake: ["Date"], now });
  try {
    return new Webhook(secret).verify(body, headers as Record<string, string>);
  } finally {
    vi.useRealTimers();
  }
}
