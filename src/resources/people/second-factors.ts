import { integer, internal, option, ref, secret, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Second factors of users at this installation. They do not replicate: their keys are sealed with the key of the
 * installation, and a stolen appliance must not hold a factor of the cloud.
 * @source docs/decisions/0483-second-factors.md; RFC 6238
 */
export default defineResource({
  name: "second-factors",
  doc: "What a user needs besides the password to log in at this installation: an authenticator app, and recovery codes.",
  paths: [{ at: "users/{userId}/second-factors", methods: ["get"] }],
  idParam: "secondFactorId",
  scope: "parent",
  replicate: "local",
  fields: {
    userId: ref("The user.", "users", { required: true, createOnly: true, onDelete: "cascade" }),
    kind: option(
      "totp: an authenticator app that shows a new code every 30 seconds; recovery-codes: codes that work once each, for a lost authenticator app.",
      ["totp", "recovery-codes"],
      { readOnly: true },
    ),
    codesLeft: integer("Recovery codes that are not used yet; null for an authenticator app.", { readOnly: true }),
    lastUsedAt: timestamp("When it was last used to log in.", { readOnly: true }),
    secret: secret("Key of the authenticator app, never returned.", { readOnly: true }),
    lastStep: internal(
      "Time step of the last accepted code of an authenticator app: earlier ones are refused.",
      "integer",
    ),
    codeHashes: internal("SHA-256 hashes (hex) of the unused recovery codes, separated by spaces.", "text"),
  },
});
