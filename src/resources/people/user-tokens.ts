import { boolean, internal, list, option, ref, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Access tokens of a user. The value is returned only by the POST; the row contains its hash.
 * @source docs/decisions/0003-authentication.md; docs/decisions/0042-api-contract.md, `/v1/users/{userId}/tokens`
 */
export default defineResource({
  name: "user-tokens",
  doc: "An access token of a user, valid until it expires or is deleted, or a console session.",
  paths: [{ at: "users/{userId}/tokens", methods: ["get", "post", "delete"] }],
  idParam: "tokenId",
  scope: "parent",
  replicate: "A",
  partialIndexes: { permanent: { fields: ["expires"], where: "kind = 'permanent'" } },
  fields: {
    userId: ref("User the token acts for.", "users", { required: true, createOnly: true, onDelete: "cascade" }),
    name: text("Name of the token, at most 140 characters.", {
      required: true,
      createOnly: true,
      min: 1,
      max: 140,
    }),
    expires: timestamp(
      "Expiry time; null for a token that never expires. A new token without it expires after the time in the settings (`auth.tokenLifetimeDays`).",
      { createOnly: true },
    ),
    addresses: list(
      "Addresses and networks from which the token is valid, such as 192.0.2.0/24; an empty list allows all.",
      text("Address or network in CIDR notation.", { min: 1, max: 50 }),
      { maxItems: 50, default: [], createOnly: true },
    ),
    type: option("Purpose: a token for requests, or a code for one exchange.", ["token", "code"], {
      readOnly: true,
      default: "token",
    }),
    tokenType: option("OAuth 2 token type.", ["access_token", "refresh_token"], {
      readOnly: true,
      default: "access_token",
    }),
    scope: text("OAuth 2 scopes, separated by spaces; null for a token with all permissions of its user.", {
      readOnly: true,
      max: 4_000,
    }),
    client: text("Client id of the application of the token; null if it was created manually.", { readOnly: true }),
    applicationId: ref("Application of the token; deleting the application deletes the token.", "applications", {
      readOnly: true,
      onDelete: "cascade",
    }),
    originId: internal("Id of the first token of a chain of refreshed ones.", "text", { index: true }),
    originCreatedAt: timestamp("When the first token of the refresh chain was created.", { readOnly: true }),
    refreshTokenUsed: boolean("A refresh token or code that was already exchanged; a second use revokes the chain.", {
      readOnly: true,
      default: false,
    }),
    kind: option(
      "permanent: created manually; session: console session, ends after inactivity; oauth: issued to an application; invitation: one-time code to log a device in; device: logged in by invitation, limited to the user's own messages and devices.",
      ["permanent", "session", "oauth", "invitation", "device"],
      { readOnly: true },
    ),
    lastUsedAt: timestamp("Last use, updated at most once per minute.", { readOnly: true }),
    lastUsedAddress: text("Network address of the last use.", { readOnly: true, max: 64 }),
    provenAt: internal(
      "For a session: when its user last logged in or confirmed who is there, epoch ms; changes of trust need a recent time.",
      "integer",
    ),
    tokenHash: internal("SHA-256 of the clear value, hex.", "text", { unique: true }),
    redirectUri: internal("For a code: its redirect URI; null if the request had none.", "text"),
    idles: internal("1 for an application token that ends after inactivity, like a session.", "integer"),
    codeChallenge: internal("For a code: SHA-256 of the PKCE verifier, base64url; null without PKCE.", "text"),
  },
});
