import { describeSession, endSession } from "../../access/session.ts";
import { sessionCookie } from "../../access/session-cookie.ts";
import { type Action, deleted, json } from "../action.ts";

/** Whose token it is, and giving it back. @source service-api.md, Session; decisions.md 3 */
export const sessionActions: readonly Action[] = [
  {
    method: "get",
    at: "session",
    permission: "anyone",
    async handle({ needs, principal }) {
      return json({ ...describeSession(needs.store, needs.access, principal), permissions: ["get", "delete"] });
    },
  },
  {
    method: "delete",
    at: "session",
    permission: "anyone",
    async handle({ needs, principal, by, secure }) {
      const answer = deleted(await endSession(needs.store, principal, by));
      if (principal.accessToken !== null) return answer;
      return { ...answer, headers: { "Set-Cookie": sessionCookie(null, secure) } };
    },
  },
];
