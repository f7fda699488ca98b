import { openLoopbackHttpServer } from "./http-server.ts";
import type { ReceivedMessage, SimulatedService, SimulatedServiceDeps } from "./service.ts";

/** Relevant part of a post: a text, or a card of blocks. */
interface Post {
  text?: string;
  attachments?: { content?: { body?: { inlines?: { text?: string }[] }[] } }[];
}

/** A chat service with an incoming webhook per path; accepts texts and Adaptive Cards. */
export async function openChatServer({ at }: SimulatedServiceDeps): Promise<SimulatedService> {
  const receptions: ReceivedMessage[] = [];
  const server = await openLoopbackHttpServer(async ({ method, url, body }) => {
    const words = messageText(JSON.parse(body.toString("utf8")) as Post);
    if (method !== "POST" || words === "") return { status: 400, body: "invalid_payload" };
    receptions.push({ service: "chat", to: url, words, packets: 0, at: at() });
    return { status: 200, body: "ok" };
  });
  return { connectionSettings: { url: `${server.url}/front-office` }, receptions: () => receptions, stop: server.stop };
}

function messageText({ text = "", attachments = [] }: Post): string {
  const blocks = attachments.flatMap(({ content }) => content?.body ?? []);
  return [text, ...blocks.flatMap(({ inlines = [] }) => inlines.map((run) => run.text ?? ""))].join("\n").trim();
}
