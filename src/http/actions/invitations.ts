import { buildSessionCookie } from "../../auth/session-cookie.ts";
import { acceptInvitation, createInvitation, DEVICE_SESSION_MS } from "../../people/invitations.ts";
import users from "../../resources/people/users.ts";
import { text, timestamp } from "../../schema/field.ts";
import { type Action, jsonResponse, requireVisibleRow } from "../action.ts";
import { assertSameOrigin } from "../session-auth.ts";
import { compileBodyValidator } from "./body-validator.ts";

const code = text("The invitation's code; case, blanks and hyphens don't count.", { required: true, max: 64 });
const name = text("What the device is called among its owner's tokens.", { max: 140 });

const checkInvitation = compileBodyValidator({ code, name });

/** The page of recipients; the code stands where no server and no log sees it. */
const PAGE = "/inbox/#invitation=";

/**
 * Invitations of people to their own page. own choice: who has no password, or shall type none on a telephone or a screen
 * on the wall, logs in there by a code that is good once.
 */
export const invitationActions: readonly Action[] = [
  {
    method: "post",
    at: "users/{userId}/invitations",
    doc: "Invites a user to log a device in; the code is told here and never again, and is good once.",
    response: {
      kind: "members",
      fields: {
        code: text("What is typed at the device.", { required: true }),
        url: text("Link that does the same.", { required: true }),
        expires: timestamp("When it is over.", { required: true }),
      },
    },
    async handle(request) {
      const { needs } = request;
      const user = requireVisibleRow(request, users, request.params.userId ?? "");
      const invitation = await createInvitation(needs, user.id, request.by);
      const url = `${needs.baseUrl()}${PAGE}${invitation.code}`;
      return jsonResponse({ code: invitation.code, url, expires: new Date(invitation.expires).toISOString() });
    },
  },
  {
    method: "post",
    at: "invitation",
    outsideVersion: true,
    doc: "Accepts an invitation: logs the device in, for its user's own messages and devices alone, held by a cookie.",
    response: { kind: "nothing" },
    permission: "open",
    accepts: { code, name },
    async handle(request) {
      assertSameOrigin(request);
      const { needs, address, secure, body } = request;
      const given = checkInvitation(body) as { code: string; name: string | null };
      const token = await acceptInvitation(needs, given, address);
      return {
        status: 204,
        headers: { "Set-Cookie": buildSessionCookie(token, secure, DEVICE_SESSION_MS) },
        body: null,
      };
    },
  },
];
