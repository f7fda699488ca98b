import { internal, ref, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * What a directory proves itself with when it provisions users and groups. own choice: tokens of their own, since those of
 * users end with their users; they are good for `/scim/v2` alone, and only members of super groups make them.
 * @source RFC 7644 §2
 */
export default defineResource({
  name: "scim-tokens",
  doc: "A token by which a directory outside provisions users and groups.",
  paths: [{ at: "scim-tokens", methods: ["get", "post", "delete"] }],
  idParam: "scimTokenId",
  scope: "organisation",
  replicate: "A",
  limit: { most: 20 },
  fields: {
    name: text("What the directory is called here.", { required: true, createOnly: true, min: 1, max: 140 }),
    expires: timestamp("Moment from which the token is refused; null for one that lasts.", { createOnly: true }),
    homeDomainId: ref("Domain into which users come that are made with it; the root when not given.", "domains", {
      createOnly: true,
    }),
    lastUsedAt: timestamp("The last request with it, written at most once a minute.", { readOnly: true }),
    tokenHash: internal("SHA-256 of the clear value, hex.", "text", { unique: true }),
  },
});
