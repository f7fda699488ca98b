import type { DeliveryItem } from "../../plugin-api/index.ts";
import type { NotificationRow } from "./message-builder.ts";

/** Characters that fit small displays. @source plugin-api, DeliveryItem */
const SHORT_CHARACTERS = 100;

/**
 * The texts a device may show. `short` is the subject with as much of the body as fits, on one line and cut between
 * words where that is possible. own choice: an exercise says so in the first word of every text.
 */
export function deliveryText(message: Pick<NotificationRow, "subject" | "body" | "drill">): DeliveryItem["text"] {
  const subject = `${message.drill ? "DRILL: " : ""}${message.subject ?? ""}`;
  const body = message.body ?? "";
  const whole = [subject, body].map(oneLine).filter((part) => part !== "");
  return { subject, body, short: truncate(whole.join(" - "), SHORT_CHARACTERS) };
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** At most `most` code points, the last one an ellipsis when something is missing. */
function truncate(text: string, most: number): string {
  if (text.length <= most) return text;
  const points = [...text];
  if (points.length <= most) return text;
  const start = points.slice(0, most - 1).join("");
  const space = start.lastIndexOf(" ");
  return `${space > most / 2 ? start.slice(0, space) : start}…`;
}
