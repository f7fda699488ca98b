import type { PasswordChange } from "../../auth/login.ts";
import { PASSWORD_MAX_LENGTH } from "../../auth/new-passwords.ts";
import { buildSessionCookie } from "../../auth/session-cookie.ts";
import users from "../../resources/people/users.ts";
import { boolean, text } from "../../schema/field.ts";
import { type Action, requireVisibleRow } from "../action.ts";
import { compileBodyValidator } from "./body-validator.ts";

const password = text(
  "New password: neither easy to guess nor containing a name of the user or organisation, and at least as long as the setting `auth.passwordMinLength`.",
  { required: true, max: PASSWORD_MAX_LENGTH },
);
const currentPassword = text("Current password, required to change one's own password.", { max: 1_024 });

const revokeTokens = boolean("Also revokes the user's permanent tokens. Default: false.", { default: false });

const validatePasswordChange = compileBodyValidator({ password, currentPassword, revokeTokens });

/**
 * Changes one's own password, or that of a user without greater permissions. A separate path, because it requires
 * another permission than changing the user. A console session continues as a new session.
 */
export const passwordActions: readonly Action[] = [
  {
    method: "post",
    at: "users/{userId}/password-link",
    doc: "Mails the user a link to set a password, good once and for 24 hours, so that no administrator has to choose one. 409 without a mail server, and for an account that cannot log in with a password kept here; 502 when no mail server took the mail.",
    response: { kind: "nothing" },
    async handle(request) {
      const { id: userId } = requireVisibleRow(request, users, request.params.userId ?? "");
      await request.deps.passwordReset.sendTo(userId, request.by);
      return { status: 204, body: null };
    },
  },
  {
    method: "put",
    at: "users/{userId}/password",
    doc: "Sets the password of a user and ends the user's sessions and application grants.",
    response: { kind: "nothing" },
    accepts: { password, currentPassword, revokeTokens },
    async handle(request) {
      const { deps, principal, secure, address } = request;
      const { id: userId } = requireVisibleRow(request, users, request.params.userId ?? "");
      await deps.signIn.setPassword({ ...validatePasswordChange(request.body), userId } as PasswordChange, request.by);
      if (principal.userId !== userId || principal.accessToken !== null) return { status: 204, body: null };
      const session = await deps.signIn.loginVerifiedUser(userId, address);
      return { status: 204, headers: { "Set-Cookie": buildSessionCookie(session, secure) }, body: null };
    },
  },
];
