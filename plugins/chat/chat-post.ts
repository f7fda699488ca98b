import type { DeliveryItem } from "#plugin-api";

/** Body format: an Adaptive Card (Teams) or text (Slack and compatible). */
export type ChatFormat = "card" | "text";

const DRILL = { en: "This is a drill.", de: "Dies ist eine Übung." } as const;

/**
 * Maximum text in UTF-8 bytes; a card is limited to 28 KB in all.
 * @source Microsoft Teams documentation, limits of incoming webhooks
 */
const MAX_BYTES = 24_000;

/** Request body of one message. Its text is never interpreted as markup. */
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

/** RichTextBlock shows text literally; TextBlock would interpret Markdown. @source Adaptive Cards 1.4 */
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
  // No links, previews or mentions.
  return { text: lines.join("\n"), link_names: false, unfurl_links: false };
}

/**
 * Slack requires escaping of these three characters; an asterisk would end bold text.
 * @source Slack API documentation, formatting text
 */
function escapeMrkdwn(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("*", "∗");
}

function paragraphsOf(body: string): string[] {
  return body.split(/\n+/).filter((line) => line.trim() !== "");
}

function shortenToBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  // Drops a character that was cut in half.
  return `${bytes
    .subarray(0, maxBytes)
    .toString("utf8")
    .replace(/\uFFFD$/, "")} …`;
}
