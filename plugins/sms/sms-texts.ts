import { type DeliveryItem, recipientLanguage, type TextReply } from "#plugin-api";

export type SmsLanguage = "en" | "de";

const TEXTS = {
  en: {
    reply: "Reply",
    answered: "Thank you. Your response is:",
    inactive: "no longer accepts new members.",
    left: "You have left",
    leftNone: "You are not on this list. Send STOP to end all text messages.",
    stopped: "You will get no more text messages. Send START to resume.",
    started: "You will get text messages again. Send STOP to end them.",
    help: "Reply with the number of your answer. Send STOP to end all text messages, START to resume.",
    late: "Responses to this message are no longer accepted.",
    many: "Too many attempts. Please try again later.",
    unknown: "Your message was not understood. Send STOP to end all text messages.",
  },
  de: {
    reply: "Antworten Sie",
    answered: "Danke. Ihre Antwort ist:",
    inactive: "nimmt niemanden mehr auf.",
    left: "Sie haben verlassen:",
    leftNone: "Sie standen nicht auf dieser Liste. STOP beendet alle Textnachrichten.",
    stopped: "Sie erhalten keine Textnachrichten mehr. START bringt sie zurück.",
    started: "Sie erhalten wieder Textnachrichten. STOP beendet sie.",
    help: "Antworten Sie mit der Nummer Ihrer Antwort. STOP beendet alle Textnachrichten, START bringt sie zurück.",
    late: "Antworten auf diese Nachricht werden nicht mehr angenommen.",
    many: "Zu viele Versuche. Bitte versuchen Sie es später.",
    unknown: "Das wurde nicht verstanden. STOP beendet alle Textnachrichten.",
  },
} as const;

/** Text for a recipient: the message, and how to respond by number. */
export function composeSmsText(item: DeliveryItem, given: SmsLanguage): string {
  const { text, recipient } = item;
  const language = recipientLanguage(item, TEXTS, given);
  const options = recipient?.answers?.options ?? [];
  const answers = options.map((option, at) => `${at + 1} = ${option}`).join(", ");
  const lines = [text.subject, text.body].map((part) => part.trim()).filter((part) => part !== "");
  return [...lines, ...(answers === "" ? [] : [`${TEXTS[language].reply} ${answers}`])].join("\n");
}

/** Reply to an inbound message; null for none. Unknown texts are answered, to make STOP known. */
export function inboundReplyText(reply: TextReply, language: SmsLanguage): string | null {
  const texts = TEXTS[language];
  switch (reply.kind) {
    case "answered":
      return [`${texts.answered} ${reply.option}`, ...(reply.told ? [reply.told] : [])].join("\n");
    case "joined":
      return null;
    case "inactive":
      return reply.text || `${reply.list} ${texts.inactive}`;
    case "left":
      return reply.lists.length === 0 ? texts.leftNone : `${texts.left} ${reply.lists.join(", ")}`;
    case "stopped":
      return texts.stopped;
    case "started":
      return texts.started;
    case "help":
      return texts.help;
    case "refused":
      return reply.why === "too-late" ? texts.late : texts.many;
    case "unknown":
      return texts.unknown;
  }
}
