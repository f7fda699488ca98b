import type { DeliveryItem, TextReply } from "#plugin-api";

/** What stands around messages. */
export type SmsLanguage = "en" | "de";

const TEXTS = {
  en: {
    reply: "Reply",
    answered: "Thank you. Your answer is:",
    inactive: "takes nobody any more.",
    left: "You have left",
    leftNone: "You were on no list.",
    stopped: "You will get no more text messages. START brings them back.",
    started: "You will get text messages again. STOP ends them.",
    late: "Answers to this message are taken no more.",
    many: "Too many attempts. Please try again later.",
    unknown: "This was not understood. STOP ends all text messages.",
  },
  de: {
    reply: "Antworten Sie",
    answered: "Danke. Ihre Antwort ist:",
    inactive: "nimmt niemanden mehr auf.",
    left: "Sie haben verlassen:",
    leftNone: "Sie standen auf keiner Liste.",
    stopped: "Sie erhalten keine Textnachrichten mehr. START bringt sie zurück.",
    started: "Sie erhalten wieder Textnachrichten. STOP beendet sie.",
    late: "Antworten auf diese Nachricht werden nicht mehr angenommen.",
    many: "Zu viele Versuche. Bitte versuchen Sie es später.",
    unknown: "Das wurde nicht verstanden. STOP beendet alle Textnachrichten.",
  },
} as const;

/** What a recipient reads: the message, and how to answer it by a number. */
export function composeSmsText({ text, recipient }: DeliveryItem, language: SmsLanguage): string {
  const options = recipient?.answers?.options ?? [];
  const answers = options.map((option, at) => `${at + 1} = ${option}`).join(", ");
  const said = [text.subject, text.body].map((part) => part.trim()).filter((part) => part !== "");
  return [...said, ...(answers === "" ? [] : [`${TEXTS[language].reply} ${answers}`])].join("\n");
}

/** What the sender of a text message is told; null for nothing. A word nobody knows is answered, so that STOP is known. */
export function inboundReplyText(reply: TextReply, language: SmsLanguage): string | null {
  const words = TEXTS[language];
  switch (reply.kind) {
    case "answered":
      return [`${words.answered} ${reply.option}`, ...(reply.told ? [reply.told] : [])].join("\n");
    case "joined":
      return null;
    case "inactive":
      return reply.text || `${reply.list} ${words.inactive}`;
    case "left":
      return reply.lists.length === 0 ? words.leftNone : `${words.left} ${reply.lists.join(", ")}`;
    case "stopped":
      return words.stopped;
    case "started":
      return words.started;
    case "refused":
      return reply.why === "too-late" ? words.late : words.many;
    case "unknown":
      return words.unknown;
  }
}

/** Digits with a plus before them where there was one; null for what is no number. */
export function normalizePhoneNumber(text: string): string | null {
  const number = text.replace(/[\s()./-]/g, "");
  return /^\+?\d{3,15}$/.test(number) ? number : null;
}
