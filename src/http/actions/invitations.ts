import { buildSessionCookie } from "../../auth/session-cookie.ts";
import { acceptInvitation, createInvitation, DEVICE_SESSION_MS } from "../../people/invitations.ts";
import users from "../../resources/people/users.ts";
import { text, timestamp } from "../../schema/field.ts";
import { type Action, jsonResponse, requireVisibleRow } from "../action.ts";
import { assertSameOrigin } from "../session-auth.ts";
import { compileBodyValidator } from "./body-validator.ts";

const code = text("Invitation code; case, spaces and hyphens are ignored.", { required: true, max: 64 });
const name = text("Name of the device in the list of the user's tokens.", { max: 140 });

const checkInvitation = compileBodyValidator({ code, name });

/** The inbox page; the code is in the fragment, which browsers do not send to servers. */
const PAGE = "/inbox/#invitation=";

/** Invitations: users without a password, or at a shared screen, log a device in with a one-time code. */
export const invitationActions: readonly Action[] = [
  {
    method: "post",
    at: "users/{userId}/invitations",
    doc: "Creates a one-time code with which a user can log a device in. The code is returned only here.",
    response: {
      kind: "members",
      fields: {
        code: text("Code to enter on the device.", { required: true }),
        url: text("Login link with the code.", { required: true }),
        expires: timestamp("Expiry time.", { required: true }),
      },
    },
    async handle(request) {
      const { deps } = request;
      const user = requireVisibleRow(request, users, request.params.userId ?? "");
      const invitation = await createInvitation(deps, user.id, request.by);
      const url = `${deps.baseUrl()}${PAGE}${invitation.code}`;
      return jsonResponse({ code: invitation.code, url, expires: new Date(invitation.expires).toISOString() });
    },
  },
  {
    method: "post",
    at: "invitation",
    outsideVersion: true,
    doc: "Accepts an invitation: logs the device in with a session cookie limited to the user's own messages and devices.",
    response: { kind: "nothing" },
    permission: "open",
    accepts: { code, name },
    async handle(request) {
      assertSameOrigin(request);
      const { deps, address, secure, body } = request;
      const given = checkInvitation(body) as { code: string; name: string | null };
      const token = await acceptInvitation(deps, given, address);
      return {
        status: 204,
        headers: { "Set-Cookie": buildSessionCookie(token, secure, DEVICE_SESSION_MS) },
        body: null,
      };
    },
  },
];
