import { createHash } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

/** Feeds and documents on loopback, with ETags. */
export interface TestFeedServer {
  url(path: string): string;
  /** What stands at each path; another status than 200 where it is a number. */
  readonly pages: Map<string, string | { status: number; headers?: Record<string, string>; body?: Uint8Array }>;
  /** All requests so far. */
  readonly asked: { path: string; headers: IncomingHttpHeaders; status: number }[];
  close(): Promise<void>;
}

/** Starts a server without pages. */
export async function openFeedServer(): Promise<TestFeedServer> {
  const pages: TestFeedServer["pages"] = new Map();
  const asked: TestFeedServer["asked"] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    const page = pages.get(path) ?? { status: 404 };
    const etag = `"${createHash("sha256").update(JSON.stringify(page)).digest("hex")}"`;
    const isKnown = request.headers["if-none-match"] === etag;
    const status = typeof page !== "string" ? page.status : isKnown ? 304 : 200;
    asked.push({ path, headers: request.headers, status });
    response.writeHead(status, typeof page === "string" ? { etag } : page.headers);
    response.end(typeof page !== "string" ? page.body : status === 200 ? page : "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: (path) => `http://127.0.0.1:${port}${path}`,
    pages,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
