import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Reception, Service, ServiceNeeds } from "./service.ts";

/** What matters of a post: a text, or a card of blocks. */
interface Post {
  text?: string;
  attachments?: { content?: { body?: { inlines?: { text?: string }[] }[] } }[];
}

/** A chat service with one incoming webhook for each path; takes texts and Adaptive Cards. */
export async function openChatServer({ at }: ServiceNeeds): Promise<Service> {
  const receptions: Reception[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const words = wordsOf(Buffer.concat(parts).toString("utf8"));
    if (request.method !== "POST" || words === "") return void response.writeHead(400).end("invalid_payload");
    receptions.push({ service: "chat", to: request.url ?? "", words, packets: 0, at: at() });
    response.end("ok");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    facts: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/front-office` },
    receptions: () => receptions,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function wordsOf(raw: string): string {
  try {
    const { text = "", attachments = [] } = JSON.parse(raw) as Post;
    const blocks = attachments.flatMap(({ content }) => content?.body ?? []);
    return [text, ...blocks.flatMap(({ inlines = [] }) => inlines.map((run) => run.text ?? ""))].join("\n").trim();
  } catch {
    return "";
  }
}
