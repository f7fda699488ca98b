import { computed, internal, list, option, ref, text, timestamp } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Programs that users let act for them. Names and fields are own choice: public material shows what clients send, not how
 * they are registered.
 * @source decisions.md 3; RFC 6749 §2
 */
export default defineResource({
  name: "applications",
  doc: "A program that gets tokens by OAuth 2: for users who allow it, or for the user it acts as by itself.",
  paths: [{ at: "applications" }],
  idParam: "applicationId",
  scope: "organisation",
  replicate: "A",
  limit: { most: 200 },
  fields: {
    name: text(
      "What users read when they are asked to allow it. own choice: unique, so that none passes for another.",
      {
        required: true,
        min: 1,
        max: 140,
        unique: true,
      },
    ),
    clientId: computed("What the program sends as client_id: the id of this row.", "text"),
    type: option(
      "confidential: it keeps a secret, as a server does; public: it can't, as an app on a phone, and proves itself by PKCE.",
      ["confidential", "public"],
      { createOnly: true, default: "confidential" },
    ),
    redirectUris: list(
      "Where a browser may be sent back to; compared sign by sign. own choice: https, http on the machine itself, or a scheme of the program's own with a dot in it.",
      text("Address without fragment.", { min: 1, max: 2_000 }),
      { maxItems: 20, default: [] },
    ),
    scopes: list(
      "Most that it may ask for: urn:service:<resource>:<read|write> and offline_access. own choice: none means no limit but the rights of the user.",
      text("One scope.", { min: 1, max: 140 }),
      { maxItems: 100, default: [] },
    ),
    userId: ref(
      "User in whose name the client_credentials grant acts. own choice: without one there is no such grant, and only who has at least that user's rights may change the application.",
      "users",
      { embed: "user" },
    ),
    secretCreatedAt: timestamp("When the present client secret was made; null for a public application.", {
      readOnly: true,
    }),
    secretHash: internal("SHA-256 of the client secret, hex.", "text"),
  },
});
