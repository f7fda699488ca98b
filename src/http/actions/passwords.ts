import type { PasswordChange } from "../../auth/login.ts";
import { buildSessionCookie } from "../../auth/session-cookie.ts";
import users from "../../resources/people/users.ts";
import { text } from "../../schema/field.ts";
import { type Action, requireVisibleRow } from "../action.ts";
import { compileBodyValidator } from "./body-validator.ts";

const password = text("The password from now on.", { required: true, max: 1_024 });
const currentPassword = text("The password until now, asked of users who change their own.", { max: 1_024 });

const validatePasswordChange = compileBodyValidator({ password, currentPassword });

/**
 * A new password of one's own, or of a user with no greater rights. own choice: a place of its own below the user, as it
 * is asked for another permission than the user's other members; a session of the console goes on in a new one.
 */
export const passwordActions: readonly Action[] = [
  {
    method: "put",
    at: "users/{userId}/password",
    doc: "Sets a user's password, which ends the user's sessions and what applications may do in its name.",
    response: { kind: "nothing" },
    accepts: { password, currentPassword },
    async handle(request) {
      const { needs, principal, secure, address } = request;
      const { id: userId } = requireVisibleRow(request, users, request.params.userId ?? "");
      await needs.signIn.setPassword({ ...validatePasswordChange(request.body), userId } as PasswordChange, request.by);
      if (principal.userId !== userId || principal.accessToken !== null) return { status: 204, body: null };
      const session = await needs.signIn.loginVerifiedUser(userId, address);
      return { status: 204, headers: { "Set-Cookie": buildSessionCookie(session, secure) }, body: null };
    },
  },
];
