import { type SentenceLanguage, sentence, translateSentence } from "../../lib/sentences/sentences.ts";
import type { DeliveryItem } from "../../plugin-api/index.ts";
import type { NotificationRow } from "./message-builder.ts";

/** Characters that fit small displays. @source docs/decisions/0018-plugin-api.md */
const SHORT_CHARACTERS = 100;

/**
 * The texts that a device may show. `short` is the subject with as much of the body as fits, on one line, cut between
 * words if possible. Every text of a drill begins with "DRILL", in the language.
 */
export function deliveryText(
  message: Pick<NotificationRow, "subject" | "body" | "drill">,
  language: SentenceLanguage = "en",
): DeliveryItem["text"] {
  const given = message.subject ?? "";
  const subject = message.drill ? translateSentence(sentence("message.drill", { subject: given }), language) : given;
  const body = message.body ?? "";
  const whole = [subject, body].map(oneLine).filter((part) => part !== "");
  return { subject, body, short: truncate(whole.join(" - "), SHORT_CHARACTERS) };
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** At most `most` code points; ends with an ellipsis when truncated. */
function truncate(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const points = [...text];
  if (points.length <= maxLength) return text;
  const start = points.slice(0, maxLength - 1).join("");
  const space = start.lastIndexOf(" ");
  return `${space > maxLength / 2 ? start.slice(0, space) : start}…`;
}
