import type { Store } from "../store/store.ts";

/** Purposes of links in messages, for uploads and for a new password, of the cookie of a known browser, and of proofs of log-ins at appliances. */
type LinkPurpose = "answer" | "decline" | "leave" | "browser" | "appliance" | "upload" | "password" | "join";

/** Creates an unforgeable, opaque token for a link in a message; hexadecimal. */
export function signLink(kind: LinkPurpose, id: string, { secrets }: Pick<Store, "secrets">): string {
  return Buffer.from(secrets.seal(`${kind} ${id}`).slice("v1:".length), "base64").toString("hex");
}

/** The id in a link token; null for a forged token or one of another purpose. */
export function verifyLink(kind: LinkPurpose, token: string, { secrets }: Pick<Store, "secrets">): string | null {
  if (!/^[0-9a-f]{80,4000}$/.test(token)) return null;
  try {
    const text = secrets.open(`v1:${Buffer.from(token, "hex").toString("base64")}`);
    return text.startsWith(`${kind} `) ? text.slice(kind.length + 1) : null;
  } catch {
    return null;
  }
}
