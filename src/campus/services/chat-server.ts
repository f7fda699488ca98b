import { openHttpServer } from "./http-server.ts";
import type { Reception, Service, ServiceNeeds } from "./service.ts";

/** What matters of a post: a text, or a card of blocks. */
interface Post {
  text?: string;
  attachments?: { content?: { body?: { inlines?: { text?: string }[] }[] } }[];
}

/** A chat service with one incoming webhook for each path; takes texts and Adaptive Cards. */
export async function openChatServer({ at }: ServiceNeeds): Promise<Service> {
  const receptions: Reception[] = [];
  const server = await openHttpServer(async ({ method, url, body }) => {
    const words = wordsOf(JSON.parse(body.toString("utf8")) as Post);
    if (method !== "POST" || words === "") return { status: 400, body: "invalid_payload" };
    receptions.push({ service: "chat", to: url, words, packets: 0, at: at() });
    return { status: 200, body: "ok" };
  });
  return { facts: { url: `${server.url}/front-office` }, receptions: () => receptions, stop: server.stop };
}

function wordsOf({ text = "", attachments = [] }: Post): string {
  const blocks = attachments.flatMap(({ content }) => content?.body ?? []);
  return [text, ...blocks.flatMap(({ inlines = [] }) => inlines.map((run) => run.text ?? ""))].join("\n").trim();
}
