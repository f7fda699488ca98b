import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

/** A request, read to its end. */
export interface ReceivedRequest {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** A server on 127.0.0.1. */
export interface LoopbackHttpServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Serves on a port that the system chooses; what `answer` throws is a 400 in its words. */
export async function openLoopbackHttpServer(
  answer: (asked: ReceivedRequest) => Promise<{ status: number; body?: string }>,
): Promise<LoopbackHttpServer> {
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { method = "", url = "", headers } = request;
    const { status, body = "" } = await answer({ method, url, headers, body: Buffer.concat(parts) }).catch(
      (error: unknown) => ({ status: 400, body: String(error) }),
    );
    response.writeHead(status).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
