import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

/** A request with its complete body. */
export interface ReceivedRequest {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** An HTTP server on 127.0.0.1. */
export interface LoopbackHttpServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Listens at a port chosen by the system; an error thrown by `handle` becomes a 400 response. */
export async function openLoopbackHttpServer(
  handle: (request: ReceivedRequest) => Promise<{ status: number; body?: string }>,
): Promise<LoopbackHttpServer> {
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { method = "", url = "", headers } = request;
    const { status, body = "" } = await handle({ method, url, headers, body: Buffer.concat(parts) }).catch(
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
