import { boolean, internal, option, ref, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Tokens of a user. The clear value leaves Carillon once, in the answer to the POST; the row holds its hash.
 * @source decisions.md 3; digest `/v1/users/{userId}/tokens`
 */
export default defineResource({
  name: "user-tokens",
  doc: "A token that acts for its user until it expires or is deleted, or a session of the console.",
  paths: [{ at: "users/{userId}/tokens", methods: ["get", "post", "delete"] }],
  idParam: "tokenId",
  scope: "parent",
  replicate: "A",
  fields: {
    userId: ref("User the token acts for.", "users", { required: true, createOnly: true, onDelete: "cascade" }),
    name: text("What the owner calls the token. own choice: at most 140 characters.", {
      required: true,
      createOnly: true,
      min: 1,
      max: 140,
    }),
    expires: timestamp("Moment from which the token is refused; null for a permanent token.", { createOnly: true }),
    type: option("What the value is good for: requests, or one exchange for a token.", ["token", "code"], {
      readOnly: true,
      default: "token",
    }),
    tokenType: option("Which of the two OAuth 2 tokens it is.", ["access_token", "refresh_token"], {
      readOnly: true,
      default: "access_token",
    }),
    scope: text("OAuth 2 scopes, separated by blanks; null for a token with all the rights of its user.", {
      readOnly: true,
      max: 4_000,
    }),
    client: text("Client id of the program the token was made for; null for one made by hand.", { readOnly: true }),
    applicationId: ref("Application the token was made for; with it the token goes.", "applications", {
      readOnly: true,
      onDelete: "cascade",
    }),
    originId: internal("Id of the first token of a chain of refreshed ones.", "text", { index: true }),
    originCreatedAt: timestamp("When the first token of the chain was made.", { readOnly: true }),
    refreshTokenUsed: boolean("A refresh token or code that was exchanged; its second use revokes the chain.", {
      readOnly: true,
      default: false,
    }),
    kind: option(
      "own choice: permanent, made by hand; session, of the console, ends after idling; oauth, made for an application; invitation, good once to log a device in; device, logged in so, reaches its user's own things alone.",
      ["permanent", "session", "oauth", "invitation", "device"],
      { readOnly: true },
    ),
    lastUsedAt: timestamp("own choice: the last request with it, written at most once a minute.", { readOnly: true }),
    tokenHash: internal("SHA-256 of the clear value, hex.", "text", { unique: true }),
    redirectUri: internal("Of a code: where it was sent to; null when the request named no address.", "text"),
    idles: internal("1 for a token of an application that, like a session, ends after idling.", "integer"),
    codeChallenge: internal("Of a code: SHA-256 of the verifier, base64url; null without PKCE.", "text"),
  },
});
