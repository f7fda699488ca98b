import type { DeliveryItem } from "#plugin-api";

/** How a chat service wants to be told: a card as the Teams kind takes it, or text as the Slack kind does. */
export type ChatFormat = "card" | "text";

const DRILL = { en: "This is a drill.", de: "Dies ist eine Übung." } as const;

/** Longest text of a message in UTF-8; a card has 28 KB in all. @source Microsoft Teams, limits of incoming webhooks */
const MAX_BYTES = 24_000;

/** The JSON of one message in a format. Nothing of its text is read as markup. */
export function chatPost(
  item: Pick<DeliveryItem, "text" | "drill" | "class">,
  format: ChatFormat,
  language: "en" | "de",
) {
  const { subject } = item.text;
  const body = shortenToBytes(item.text.body, MAX_BYTES);
  const drill = item.drill ? DRILL[language] : null;
  return JSON.stringify(
    format === "card" ? cardOf({ ...item, subject, body, drill }) : textOf({ subject, body, drill }),
  );
}

interface PostText {
  subject: string;
  body: string;
  drill: string | null;
}

/** @source Adaptive Cards 1.4; a RichTextBlock shows its runs as they are, a TextBlock would read them as Markdown */
function cardOf({ subject, body, drill, ...item }: PostText & Pick<DeliveryItem, "class">) {
  const run = (text: string, more: object = {}): object => ({ type: "TextRun", text, ...more });
  const block = (...inlines: object[]): object => ({ type: "RichTextBlock", inlines });
  const color = item.class === "emergency" && drill === null ? "attention" : "default";
  const content = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    fallbackText: [drill, subject].filter((each) => each !== null).join(" "),
    msteams: { width: "Full" },
    body: [
      ...(drill === null ? [] : [block(run(drill, { weight: "bolder", color: "warning" }))]),
      block(run(subject, { size: "large", weight: "bolder", color })),
      ...paragraphsOf(body).map((paragraph) => block(run(paragraph))),
    ],
  };
  const contentType = "application/vnd.microsoft.card.adaptive";
  return { type: "message", attachments: [{ contentType, contentUrl: null, content }] };
}

function textOf({ subject, body, drill }: PostText) {
  const lines = [
    ...(drill === null ? [] : [`*${drill}*`]),
    `*${escapeMrkdwn(subject)}*`,
    ...(body === "" ? [] : [escapeMrkdwn(body)]),
  ];
  // Neither addresses nor names within become links, nor does anybody get called by @name.
  return { text: lines.join("\n"), link_names: false, unfurl_links: false };
}

/** @source Slack, formatting text: these three are all that is to be escaped; stars would end what is bold */
function escapeMrkdwn(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("*", "∗");
}

function paragraphsOf(body: string): string[] {
  return body.split(/\n+/).filter((line) => line.trim() !== "");
}

function shortenToBytes(text: string, mostBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= mostBytes) return text;
  // What the cut leaves of a character is dropped.
  return `${bytes
    .subarray(0, mostBytes)
    .toString("utf8")
    .replace(/\uFFFD$/, "")} …`;
}
