import { internal, ref, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * SCIM tokens of directories. They are independent of users, valid for `/scim/v2` only, and only members of super
 * groups may create them.
 * @source RFC 7644 §2
 */
export default defineResource({
  name: "scim-tokens",
  doc: "A token with which an external directory provisions users and groups (SCIM).",
  paths: [{ at: "scim-tokens", methods: ["get", "post", "delete"] }],
  idParam: "scimTokenId",
  scope: "organisation",
  replicate: "A",
  limit: { most: 20 },
  fields: {
    name: text("Name of the directory.", { required: true, createOnly: true, min: 1, max: 140 }),
    expires: timestamp("Expiry time; null for a permanent token.", { createOnly: true }),
    homeDomainId: ref("Home domain of users created with the token; default: the root domain.", "domains", {
      createOnly: true,
    }),
    lastUsedAt: timestamp("Last use, updated at most once per minute.", { readOnly: true }),
    tokenHash: internal("SHA-256 of the clear value, hex.", "text", { unique: true }),
  },
});
