import type { ReceivedAlert } from "./alert.ts";

/** Names an alert as others refer to it. What is said for exercise never replaces what is meant. */
export function alertKey({ status, sender, identifier, sent }: ReceivedAlert): string {
  return keyFromReference(status, [sender, identifier, sent]);
}

/** The names of the alerts that an alert takes the place of, or ends. @source CAP 1.2 §3.2.1: msgType, references */
export function supersededAlertKeys({ status, msgType, references }: ReceivedAlert): string[] {
  if (msgType !== "Update" && msgType !== "Cancel") return [];
  return references
    .split(/\s+/)
    .filter((reference) => reference !== "")
    .map((reference) => keyFromReference(status, reference.split(",")));
}

/** The same moment may be written in several ways. */
function keyFromReference(status: string, [sender = "", identifier = "", sent = ""]: readonly string[]): string {
  return `${status} ${sender},${identifier},${Date.parse(sent)}`;
}
