import { boolean, internal, option, ref, secret, text, timestamp, uuid } from "../../schema/field.ts";
import { defineResource } from "../../schema/resource.ts";

/**
 * Calls to programs of others when something is written. The secret leaves Carillon once, in the answer to the POST or
 * to a rotation; rows hold it sealed.
 * @source decisions.md 13, Triggers; digest `/v1/triggers`; Standard Webhooks 1.0
 */
export default defineResource({
  name: "triggers",
  doc: "A web address that is called for each write of the rows it names, as far as its owner may see them.",
  paths: [{ at: "triggers" }],
  idParam: "triggerId",
  scope: "organisation",
  domainField: "actingDomainId",
  replicate: "local",
  limit: { most: 100 },
  fields: {
    name: text("What people call the trigger. own choice: at most 100 triggers.", { required: true, min: 1, max: 140 }),
    spec: text("Rows whose writes are told, as a path such as `/users/*`; `*` stands for one segment.", {
      required: true,
      min: 2,
      max: 1_000,
    }),
    type: option("How it is told: a POST to `url`, signed as Standard Webhooks says.", ["webhook"], { required: true }),
    url: text("Address that is called; redirects are not followed.", { required: true, format: "url", max: 1_000 }),
    scenarioId: uuid("Scenario whose starts alone are told, of a trigger that belongs to a rule action. own choice.", {
      readOnly: true,
    }),
    secret: secret(
      "Key of the signature: `whsec_` and 24 to 64 bytes in base64; made by Carillon when not given. own choice.",
      { createOnly: true, max: 100 },
    ),
    previousSecret: secret("The key before the last rotation; calls carry its signature too while it is good.", {
      readOnly: true,
    }),
    previousSecretUntil: timestamp("Moment from which calls no longer carry the signature of the previous key.", {
      readOnly: true,
    }),
    disabled: boolean(
      "Nothing is told while it is disabled; enabled again, it goes on where it stopped. own choice: calls that fail for three days disable it.",
      { default: false },
    ),
    disabledReason: text("Why Carillon disabled it; null when somebody did.", { readOnly: true, max: 1_000 }),
    ownerId: ref("User who made it and whose rights decide what is told; null for the organisation itself.", "users", {
      readOnly: true,
      embed: "owner",
      onDelete: "cascade",
    }),
    actingDomainId: uuid("Domain in which its owner's rights are asked for.", { readOnly: true }),
    failingSince: internal("Epoch ms since which every call failed; null while they succeed.", "integer"),
    position: internal("Number of the last audit entry that was looked at.", "integer"),
  },
});
