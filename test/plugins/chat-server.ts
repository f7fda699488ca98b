import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

/** A post as a chat service got it. */
export interface ChatPost {
  path: string;
  headers: IncomingHttpHeaders;
  said: { type?: string; text?: string; attachments?: { contentType: string; content: Card }[] };
  raw: string;
}

/** What matters of an Adaptive Card. */
export interface Card {
  type: string;
  version: string;
  fallbackText: string;
  body: { type: string; inlines: { type: string; text: string }[] }[];
}

/** How a service answers a post. */
export interface ChatScriptedResponse {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

/** A chat service with incoming webhooks on loopback. */
export interface TestChatServer {
  url(path: string): string;
  readonly posts: readonly ChatPost[];
  close(): Promise<void>;
}

/** The most that a service takes. @source Microsoft Teams, limits of incoming webhooks */
const MAX_BYTES = 28 * 1_024;

/** Starts a service that is strict about what a post is; `answer` rules over the rest, by default it takes it. */
export async function openTestChatServer(
  answer: (post: ChatPost, count: number) => ChatScriptedResponse | "never" = () => ({ status: 200, body: "ok" }),
): Promise<TestChatServer> {
  const posts: ChatPost[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const raw = Buffer.concat(parts).toString("utf8");
    const post = { path: request.url ?? "", headers: request.headers, said: read(raw), raw };
    posts.push(post);
    const given = faultOf(post, request.method) ?? answer(post, posts.length);
    if (given !== "never") response.writeHead(given.status, given.headers).end(given.body ?? "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: (path) => `http://127.0.0.1:${port}${path}`,
    posts,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function read(raw: string): ChatPost["said"] {
  try {
    return JSON.parse(raw) as ChatPost["said"];
  } catch {
    return {};
  }
}

/** The words of both kinds of services for what is no message. */
function faultOf({ said, raw, headers }: ChatPost, method = ""): ChatScriptedResponse | null {
  if (method !== "POST") return { status: 405 };
  if (!String(headers["content-type"]).startsWith("application/json")) return { status: 415 };
  if (Buffer.byteLength(raw) > MAX_BYTES) return { status: 413, body: "Request Entity Too Large" };
  const card = said.attachments?.[0];
  const isCard =
    said.type === "message" &&
    card?.contentType === "application/vnd.microsoft.card.adaptive" &&
    card.content.type === "AdaptiveCard" &&
    card.content.body.every(({ inlines }) => inlines.every(({ text }) => text !== ""));
  const isText = typeof said.text === "string" && said.text !== "";
  return isCard || isText ? null : { status: 400, body: "invalid_payload" };
}
