import type { OwnerProof } from "../../auth/login.ts";
import { relyingPartyOf } from "../../auth/relying-party.ts";
import { CallerError, invalidValue } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import users from "../../resources/people/users.ts";
import { list, text, timestamp, uuid } from "../../schema/field.ts";
import { type Action, type ApiRequest, jsonResponse, requireVisibleRow } from "../action.ts";
import { compileBodyValidator } from "./body-validator.ts";
import { CREATION_OPTIONS, PASSKEY_FIELD as passkey } from "./passkey-field.ts";

const code = text("Code of the authenticator app.", { required: true, max: 64 });
const proof = {
  currentPassword: text("Current password; or give `code`.", { max: 1_024 }),
  code: text("Code of the authenticator app, or a recovery code.", { max: 64 }),
};
const secondFactorId = uuid("Id of the only second factor to be removed.");
const passkeyName = text("Name of the passkey, such as of the phone that has it.", {
  required: true,
  min: 1,
  max: 140,
});
const currentPassword = text("Current password.", { required: true, max: 1_024 });
const RECOVERY_CODES = {
  recoveryCodes: list(
    "Codes that work once each, for a lost authenticator app. They are not shown again.",
    text("A code."),
    {
      required: true,
    },
  ),
};

const validateStart = compileBodyValidator({ currentPassword });
const validateCode = compileBodyValidator({ code });
const validateProof = compileBodyValidator(proof);
const validateRemoval = compileBodyValidator({ ...proof, secondFactorId });
const validatePasskey = compileBodyValidator({ name: passkeyName, passkey });

/**
 * Users set up their own second factors; others can only remove them. @source docs/decisions/0483-second-factors.md
 */
export const secondFactorActions: readonly Action[] = [
  {
    method: "post",
    at: "users/{userId}/authenticator-app",
    doc: "Creates the key of an authenticator app for oneself. It counts once `authenticator-app/confirmation` has confirmed it, within ten minutes.",
    response: {
      kind: "members",
      fields: {
        secret: text("The key, Base32, to be typed into the app. It is not shown again.", { required: true }),
        uri: text("The key as an `otpauth:` address, for a QR code.", { required: true, max: 2_000 }),
        expires: timestamp("When the key must have been confirmed.", { required: true }),
      },
    },
    accepts: { currentPassword },
    async handle(request) {
      const user = requireSelf(request);
      await request.deps.signIn.verifyOwner(user.id, validateStart(request.body) as unknown as OwnerProof, request.by);
      const { secret, uri, expires } = request.deps.signIn.secondFactors.beginTotp(user, request.header("host"));
      return jsonResponse({ secret, uri, expires: new Date(expires).toISOString() });
    },
  },
  {
    method: "post",
    at: "users/{userId}/authenticator-app/confirmation",
    doc: "Confirms the key of an authenticator app with its present code. Log-ins need a code from then on, and other sessions of the user end.",
    response: { kind: "members", fields: RECOVERY_CODES },
    accepts: { code },
    async handle(request) {
      const { deps, principal, by } = request;
      const given = validateCode(request.body) as { code: string };
      const user = requireSelf(request);
      return jsonResponse({
        recoveryCodes: await deps.signIn.secondFactors.confirmTotp(user, given.code, principal.tokenId, by),
      });
    },
  },
  {
    method: "post",
    at: "users/{userId}/passkey-options",
    doc: "Returns the options with which the browser creates a passkey for oneself (WebAuthn), valid for five minutes. A console session must have been confirmed recently.",
    response: CREATION_OPTIONS,
    async handle(request) {
      const user = requireSelf(request);
      const party = relyingPartyOf(request.deps.settings.api.publicUrl, request.header("host"));
      return jsonResponse(await request.deps.signIn.passkeys.creationOptions(user, party));
    },
  },
  {
    method: "post",
    at: "users/{userId}/passkeys",
    doc: "Stores the passkey that the browser created from `passkey-options`. Log-ins need a second factor from then on. With the first second factor there are recovery codes, and other sessions of the user end.",
    response: { kind: "members", fields: { recoveryCodes: { ...RECOVERY_CODES.recoveryCodes, required: false } } },
    accepts: { name: passkeyName, passkey },
    async handle(request) {
      const { deps, principal, by, header } = request;
      const { name, passkey: response } = validatePasskey(request.body) as { name: string; passkey: unknown };
      const user = requireSelf(request);
      const party = relyingPartyOf(deps.settings.api.publicUrl, header("host"));
      const created = { party, response, name };
      return jsonResponse({ recoveryCodes: await deps.signIn.passkeys.add(user, created, principal.tokenId, by) });
    },
  },
  {
    method: "post",
    at: "users/{userId}/recovery-codes",
    doc: "Creates new recovery codes for oneself; the former ones end. Requires the password or a code.",
    response: { kind: "members", fields: RECOVERY_CODES },
    accepts: proof,
    async handle(request) {
      const user = await requireProvenSelf(request);
      return jsonResponse({ recoveryCodes: await request.deps.signIn.renewRecoveryCodes(user.id, request.by) });
    },
  },
  {
    method: "post",
    at: "users/{userId}/second-factor-removal",
    doc: "Removes one's own second factors, or one of them. Requires the password or a code.",
    response: { kind: "nothing" },
    accepts: { ...proof, secondFactorId },
    async handle(request) {
      const onlyId = validateRemoval(request.body).secondFactorId as string | null;
      const user = await requireProvenSelf(request);
      await request.deps.signIn.removeSecondFactors(user.id, request.by, { endSessions: false, onlyId });
      return { status: 204, body: null };
    },
  },
  {
    method: "post",
    at: "users/{userId}/second-factor-reset",
    doc: "Removes all second factors of another user who has lost them, and ends the user's sessions. The user must not have greater permissions.",
    response: { kind: "nothing" },
    async handle(request) {
      const { deps, principal, by, params } = request;
      const user = requireVisibleRow(request, users, params.userId ?? "");
      if (user.id === principal.userId) {
        throw new CallerError("forbidden", sentence("auth.your-own-second-factors-are-removed-with-post-users-userid"));
      }
      await deps.signIn.removeSecondFactors(user.id, by, { endSessions: true });
      return { status: 204, body: null };
    },
  },
];

/** The user of the path, who must be the caller. Throws not-found, forbidden. */
function requireSelf(request: ApiRequest) {
  const user = requireVisibleRow(request, users, request.params.userId ?? "");
  if (user.id === request.principal.userId) return user;
  throw new CallerError("forbidden", sentence("auth.only-the-user-can-set-up-a-second-factor-others"));
}

async function requireProvenSelf(request: ApiRequest) {
  const user = requireSelf(request);
  const given = validateProof(request.body) as unknown as OwnerProof;
  if (given.currentPassword === null && given.code === null) {
    throw invalidValue("code", sentence("field.give-the-current-password-or-a-code-of-the-second-factor"));
  }
  await request.deps.signIn.verifyOwner(user.id, given, request.by);
  return user;
}
