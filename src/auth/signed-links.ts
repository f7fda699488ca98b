import type { Store } from "../store/store.ts";

/** What links of messages are for. */
type LinkPurpose = "answer" | "decline" | "leave";

/** A text for a link that only this appliance can make, and that says to nobody else what it is for; hexadecimal. */
export function signLink(kind: LinkPurpose, id: string, { secrets }: Pick<Store, "secrets">): string {
  return Buffer.from(secrets.seal(`${kind} ${id}`).slice("v1:".length), "base64").toString("hex");
}

/** The id that was sealed; null for a text that is none of ours, or was made for something else. */
export function verifyLink(kind: LinkPurpose, token: string, { secrets }: Pick<Store, "secrets">): string | null {
  if (!/^[0-9a-f]{80,400}$/.test(token)) return null;
  try {
    const text = secrets.open(`v1:${Buffer.from(token, "hex").toString("base64")}`);
    return text.startsWith(`${kind} `) ? text.slice(kind.length + 1) : null;
  } catch {
    return null;
  }
}
