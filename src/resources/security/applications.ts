import { computed, internal, list, option, ref, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/** OAuth 2 clients. @source docs/decisions/0003-authentication.md; RFC 6749 §2 */
export default defineResource({
  name: "applications",
  doc: "An OAuth 2 client: acts for users who consent, or for its own user with client credentials.",
  paths: [{ at: "applications" }],
  idParam: "applicationId",
  scope: "organisation",
  replicate: "A",
  limit: { most: 200 },
  fields: {
    name: text("Name shown on the consent page; unique.", {
      required: true,
      min: 1,
      max: 140,
      unique: true,
    }),
    clientId: computed("OAuth 2 client_id: the id of this application.", "text"),
    type: option(
      "confidential: keeps a client secret, such as a server; public: cannot keep a secret, such as a mobile app, and must use PKCE.",
      ["confidential", "public"],
      { createOnly: true, default: "confidential" },
    ),
    redirectUris: list(
      "Allowed redirect URIs, compared exactly: https, http on localhost, or a private-use scheme that contains a dot.",
      text("URI without fragment.", { min: 1, max: 2_000 }),
      { maxItems: 20, default: [] },
    ),
    scopes: list(
      "Maximum scopes: urn:service:<resource>:<read|write> and offline_access. An empty list means all permissions of the user.",
      text("One scope.", { min: 1, max: 140 }),
      { maxItems: 100, default: [] },
    ),
    userId: ref(
      "User for the client_credentials grant. Without one the grant is not available. Only callers with at least the permissions of this user may change the application.",
      "users",
      { embed: "user" },
    ),
    secretCreatedAt: timestamp("When the current client secret was created; null for a public application.", {
      readOnly: true,
    }),
    secretHash: internal("SHA-256 of the client secret, hex.", "text"),
  },
});
