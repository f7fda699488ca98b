import type { ReceivedAlert } from "./alert.ts";

/** Key of an alert in references. It includes the status, so that an exercise never replaces a real alert. */
export function alertKey({ status, sender, identifier, sent }: ReceivedAlert): string {
  return keyFromReference(status, [sender, identifier, sent]);
}

/** Key of an alert in references that do not say when it was sent. */
export function timelessAlertKey({ status, sender, identifier }: ReceivedAlert): string {
  return keyFromReference(status, [sender, identifier]);
}

/** Keys of the alerts that an alert replaces or cancels. @source CAP 1.2 §3.2.1: msgType, references */
export function supersededAlertKeys({ status, msgType, references }: ReceivedAlert): string[] {
  if (msgType !== "Update" && msgType !== "Cancel") return [];
  return parseReferences(references).map((reference) => keyFromReference(status, reference));
}

/** References as `[sender, identifier, sent]`; some authorities write blanks after the commas. */
export function parseReferences(references: string): string[][] {
  return references
    .trim()
    .replace(/\s*,\s*/g, ",")
    .split(/\s+/)
    .filter((reference) => reference !== "")
    .map((reference) => reference.split(","));
}

/** Compares times numerically, since the same time has several spellings. */
function keyFromReference(status: string, [sender = "", identifier = "", sent = ""]: readonly string[]): string {
  const at = Date.parse(sent);
  return `${status} ${sender},${identifier}${Number.isNaN(at) ? "" : `,${at}`}`;
}
