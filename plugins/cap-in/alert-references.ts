import type { ReceivedAlert } from "./alert.ts";

/** Key of an alert in references. It includes the status, so that an exercise never replaces a real alert. */
export function alertKey({ status, sender, identifier, sent }: ReceivedAlert): string {
  return keyFromReference(status, [sender, identifier, sent]);
}

/** Keys of the alerts that an alert replaces or cancels. @source CAP 1.2 §3.2.1: msgType, references */
export function supersededAlertKeys({ status, msgType, references }: ReceivedAlert): string[] {
  if (msgType !== "Update" && msgType !== "Cancel") return [];
  return references
    .split(/\s+/)
    .filter((reference) => reference !== "")
    .map((reference) => keyFromReference(status, reference.split(",")));
}

/** Compares times numerically, since the same time has several spellings. */
function keyFromReference(status: string, [sender = "", identifier = "", sent = ""]: readonly string[]): string {
  return `${status} ${sender},${identifier},${Date.parse(sent)}`;
}
