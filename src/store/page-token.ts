import { createHmac, timingSafeEqual } from "node:crypto";
import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";

/** Where a page starts: sort value and id of the row just outside it, and the direction. */
export interface PageStart {
  direction: "after" | "before";
  sortValue: string | number | null;
  id: string;
}

/**
 * Signs and verifies page tokens: standard base64 of a JSON string. `list` names the list (resource, filters, order); a
 * token of another list, or without a valid signature, is a 400.
 * @source docs/decisions/0001-lists-and-paging.md, Paging
 */
export interface PageTokens {
  sign(list: string, start: PageStart): string;
  /** Throws CallerError invalid-value for field `start`. */
  verify(list: string, token: string): PageStart;
}

/** Page tokens signed with `key`; they stay valid over restarts. */
export function createPageTokens(key: Buffer): PageTokens {
  const sign = (list: string, body: string): Buffer =>
    createHmac("sha256", key).update(list).update("\0").update(body).digest().subarray(0, 12);
  return {
    sign(list, { direction, sortValue, id }) {
      const body = JSON.stringify([direction === "after" ? 1 : 0, sortValue, id]);
      return Buffer.from(JSON.stringify(`${sign(list, body).toString("base64url")}.${body}`)).toString("base64");
    },
    verify(list, token) {
      try {
        const text: unknown = JSON.parse(Buffer.from(token, "base64").toString("utf8"));
        const [signature, ...rest] = String(text).split(".");
        const body = rest.join(".");
        const given = Buffer.from(signature ?? "", "base64url");
        const wanted = sign(list, body);
        if (given.length === wanted.length && timingSafeEqual(given, wanted)) {
          const [after, sortValue, id] = JSON.parse(body) as [number, string | number | null, string];
          return { direction: after ? "after" : "before", sortValue, id };
        }
      } catch {
        // A malformed token is refused like a forged one.
      }
      throw invalidValue("start", sentence("field.invalid-page-token-must-be-next-or-previous-of-this-list"));
    },
  };
}
