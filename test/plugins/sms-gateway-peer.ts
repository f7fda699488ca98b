import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

/** A request as the gateway received it. */
export interface GatewayPeerRequest {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: IncomingHttpHeaders;
  body: string;
}

/** How the gateway responds. */
export interface GatewayPeerResponse {
  status?: number;
  headers?: Record<string, string>;
  body: string;
}

/** A gateway for text messages on loopback. */
export interface GatewayPeer {
  readonly url: string;
  readonly requests: readonly GatewayPeerRequest[];
  close(): Promise<void>;
}

export async function openGatewayPeer(
  respond: (request: GatewayPeerRequest) => GatewayPeerResponse,
): Promise<GatewayPeer> {
  const requests: GatewayPeerRequest[] = [];
  const server = createServer((incoming, response) => {
    const parts: Buffer[] = [];
    incoming.on("data", (part: Buffer) => parts.push(part));
    incoming.on("end", () => {
      const { pathname, searchParams } = new URL(incoming.url ?? "/", "http://gateway");
      const request = {
        method: incoming.method ?? "",
        path: pathname,
        query: Object.fromEntries(searchParams),
        headers: incoming.headers,
        body: Buffer.concat(parts).toString("utf8"),
      };
      requests.push(request);
      const { status = 200, headers = {}, body } = respond(request);
      response.writeHead(status, headers).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
