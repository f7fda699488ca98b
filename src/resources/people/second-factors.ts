import { boolean, integer, internal, option, ref, secret, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Second factors of users at this installation. They do not replicate: their keys are sealed with the key of the
 * installation, and a stolen appliance must not hold a factor of the cloud.
 * @source docs/decisions/0483-second-factors.md; docs/decisions/0469-passkeys.md; RFC 6238
 */
export default defineResource({
  name: "second-factors",
  doc: "What a user needs besides the password to log in at this installation: a passkey or an authenticator app, and recovery codes.",
  paths: [{ at: "users/{userId}/second-factors", methods: ["get"] }],
  idParam: "secondFactorId",
  scope: "parent",
  replicate: "local",
  fields: {
    userId: ref("The user.", "users", { required: true, createOnly: true, onDelete: "cascade" }),
    kind: option(
      "totp: an authenticator app that shows a new code every 30 seconds; passkey: a key in a phone, computer or security key, which also logs in without the password; recovery-codes: codes that work once each, for a lost factor.",
      ["totp", "passkey", "recovery-codes"],
      { readOnly: true },
    ),
    name: text("Name that the user gave a passkey.", { readOnly: true, max: 140 }),
    isBackedUp: boolean("For a passkey: its maker keeps a copy, such as for the other devices of the user.", {
      readOnly: true,
    }),
    codesLeft: integer("Recovery codes that are not used yet; null for other kinds.", { readOnly: true }),
    lastUsedAt: timestamp("When it was last used to log in.", { readOnly: true }),
    secret: secret("Key of the authenticator app, never returned.", { readOnly: true }),
    lastStep: internal(
      "Time step of the last accepted code of an authenticator app: earlier ones are refused.",
      "integer",
    ),
    credentialId: internal("Id of a passkey, base64url.", "text", { unique: true }),
    publicKey: internal("Public key of a passkey, COSE in base64url.", "text"),
    signatures: internal("Signature counter of a passkey at its last use.", "integer"),
    transports: internal("How browsers reach a passkey, separated by spaces.", "text"),
    codeHashes: internal("SHA-256 hashes (hex) of the unused recovery codes, separated by spaces.", "text"),
  },
});
