import { addressParser } from "postal-mime";
import type { ParsedMail } from "./parsed-mail.ts";

/** Fields in which mail servers note for whom a mail was, the most exact first; then what its writer says. */
const RECIPIENT_FIELDS = ["x-original-to", "envelope-to", "delivered-to", "to", "cc"];
const MAX_RECIPIENTS = 10;

/**
 * The recipients of a mail that was fetched from a mailbox: those of the first field that names known ones.
 * @source RFC 9228 (Delivered-To)
 */
export function deliveredTo({ headers }: ParsedMail, isKnown: (address: string) => boolean): string[] {
  for (const field of RECIPIENT_FIELDS) {
    const named = headers.filter(({ key }) => key === field).flatMap(({ value }) => addressesOf(value));
    const known = [...new Set(named)].filter(isKnown);
    if (known.length > 0) return known.slice(0, MAX_RECIPIENTS);
  }
  return [];
}

/** The envelope sender as the last mail server noted it; the writer where it did not. Empty for bounces. @source RFC 5321 §4.4 */
export function returnPathOf({ headers, from }: ParsedMail): string {
  const path = headers.find(({ key }) => key === "return-path")?.value;
  return path === undefined ? (from[0] ?? "") : path.replace(/[<>\s]/g, "");
}

function addressesOf(value: string): string[] {
  return addressParser(value).flatMap(({ address, group }) =>
    [address, ...(group ?? []).map((member) => member.address)]
      .filter((each) => each?.includes("@"))
      .map((each) => (each as string).toLowerCase()),
  );
}
