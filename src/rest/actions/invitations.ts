import { acceptInvitation, DEVICE_SESSION_MS, invite } from "../../access/invitations.ts";
import { sessionCookie } from "../../access/session-cookie.ts";
import users from "../../resources/people/users.ts";
import { text, timestamp } from "../../schema/field.ts";
import { type Action, json, visibleRow } from "../action.ts";
import { refuseForeignOrigin } from "../caller-by-cookie.ts";
import { bodyCheck } from "./checked-body.ts";

const code = text("The invitation's code; case, blanks and hyphens don't count.", { required: true, max: 64 });
const name = text("What the device is called among its owner's tokens.", { max: 140 });

const checkInvitation = bodyCheck({ code, name });

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
    answers: {
      kind: "members",
      fields: {
        code: text("What is typed at the device.", { required: true }),
        url: text("Link that does the same.", { required: true }),
        expires: timestamp("When it is over.", { required: true }),
      },
    },
    async handle(request) {
      const { needs } = request;
      const user = visibleRow(request, users, request.params.userId ?? "");
      const invitation = await invite(needs, user.id, request.by);
      const url = `${needs.baseUrl()}${PAGE}${invitation.code}`;
      return json({ code: invitation.code, url, expires: new Date(invitation.expires).toISOString() });
    },
  },
  {
    method: "post",
    at: "invitation",
    outsideVersion: true,
    doc: "Accepts an invitation: logs the device in, for its user's own messages and devices alone, held by a cookie.",
    answers: { kind: "nothing" },
    permission: "open",
    accepts: { code, name },
    async handle(request) {
      refuseForeignOrigin(request);
      const { needs, address, secure, body } = request;
      const given = checkInvitation(body) as { code: string; name: string | null };
      const token = await acceptInvitation(needs, given, address);
      return { status: 204, headers: { "Set-Cookie": sessionCookie(token, secure, DEVICE_SESSION_MS) }, body: null };
    },
  },
];
