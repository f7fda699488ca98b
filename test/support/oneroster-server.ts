import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Row = Readonly<Record<string, unknown>>;

/** A OneRoster 1.2 service on loopback that behaves as its test says. */
export interface OneRosterServer {
  url: string;
  tokenUrl: string;
  /** Rows by collection. */
  rows: Record<string, Row[]>;
  /** How it pages: with links, with a total, or with neither. */
  paging: "link" | "total" | "none";
  /** Most rows of a page, whatever the caller asks for. */
  pageSize: number;
  /** Requests that a token is good for. */
  tokenUses: number;
  /** Answers instead of the service; false to let it answer. */
  intercept: (request: IncomingMessage, response: ServerResponse, url: URL) => boolean;
  /** Paths with queries, and grants, in order. */
  asked: string[];
  grants: { authorization: string | undefined; body: string }[];
  close(): Promise<void>;
}

/** Client id and secret that the service knows. */
export const ONEROSTER_CLIENT = { clientId: "carillon", clientSecret: "s3cret:with/signs" };

/** Starts a service without rows. */
export async function openOneRosterServer(): Promise<OneRosterServer> {
  let issued = 0;
  let uses = 0;
  const http = createServer((request, response) => {
    const url = new URL(request.url ?? "/", fixture.url);
    if (url.pathname === "/token") return void grant(request, response);
    fixture.asked.push(`${url.pathname.split("/").at(-1)}${url.search}`);
    if (fixture.intercept(request, response, url)) return;
    if (request.headers.authorization !== `Bearer token-${issued}` || uses++ >= fixture.tokenUses) {
      response.writeHead(401, { "www-authenticate": "Bearer" }).end("{}");
      return;
    }
    const collection = url.pathname.split("/").at(-1) ?? "";
    const since = /dateLastModified>='([^']+)'/.exec(url.searchParams.get("filter") ?? "")?.[1] ?? "";
    const rows = (fixture.rows[collection] ?? []).filter(
      ({ dateLastModified = "" }) => String(dateLastModified) >= since,
    );
    const offset = Number(url.searchParams.get("offset") ?? 0);
    const limit = Math.min(Number(url.searchParams.get("limit") ?? 100), fixture.pageSize);
    const headers: Record<string, string> = { "content-type": "application/json" };
    if (fixture.paging !== "none") headers["x-total-count"] = String(rows.length);
    if (fixture.paging === "link") {
      const next = new URL(url);
      next.searchParams.set("offset", String(offset + limit));
      const more = offset + limit < rows.length ? `<${next.href}>; rel="next", ` : "";
      headers.link = `${more}<${url.href}>; rel="first"`;
    }
    response.writeHead(200, headers).end(JSON.stringify({ [collection]: rows.slice(offset, offset + limit) }));
  });
  async function grant(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const part of request) body += part;
    fixture.grants.push({ authorization: request.headers.authorization, body });
    const { clientId, clientSecret } = ONEROSTER_CLIENT;
    const wanted = Buffer.from(`${clientId}:${encodeURIComponent(clientSecret)}`).toString("base64");
    if (request.headers.authorization !== `Basic ${wanted}`) {
      response.writeHead(401).end(JSON.stringify({ error: "invalid_client" }));
      return;
    }
    uses = 0;
    const token = { access_token: `token-${++issued}`, token_type: "Bearer", expires_in: 3_600 };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(token));
  }
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const fixture: OneRosterServer = {
    ...{ url: `${origin}/ims/oneroster/rostering/v1p2`, tokenUrl: `${origin}/token`, rows: {}, paging: "link" },
    ...{ pageSize: 1_000, tokenUses: Number.POSITIVE_INFINITY, intercept: () => false, asked: [], grants: [] },
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
  return fixture;
}
