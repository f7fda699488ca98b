import type { Catalogue } from "../../schema/catalogue.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import { webhookEventType } from "../../webhooks/webhook-message.ts";

const OPERATIONS = ["create", "update", "delete"] as const;

const header = (name: string, description: string): JsonSchema => ({
  name,
  in: "header",
  required: true,
  description,
  schema: { type: "string" },
});

/**
 * The webhook of a trigger: a POST for each change of a matching row. The types of all rows are in one enumeration.
 * @source Standard Webhooks 1.0; docs/decisions/0501-webhooks-and-change-feed.md
 */
export function describeWebhooks(catalogue: Catalogue): Record<string, Record<string, JsonSchema>> {
  const types = catalogue.all.flatMap(({ name }) => OPERATIONS.map((op) => webhookEventType(name, op)));
  return {
    rowChanged: {
      post: {
        operationId: "rowChanged",
        tags: ["triggers"],
        summary: "A row that a trigger observes was created, updated or deleted.",
        description:
          "Signed according to Standard Webhooks 1.0: HMAC-SHA256 of `webhook-id.webhook-timestamp.body` with the key of the trigger. Sent again with the same `webhook-id` until the receiver answers 2xx.",
        security: [],
        parameters: [
          header("webhook-id", "Id of the message, the same for every attempt."),
          header("webhook-timestamp", "Seconds since 1970 of this attempt."),
          header("webhook-signature", "Space-separated signatures, each `v1,` and base64."),
        ],
        requestBody: { required: true, content: { "application/json": { schema: changeSchema(types) } } },
        responses: { "2XX": { description: "Received. Other responses are attempts that failed." } },
      },
    },
  };
}

function changeSchema(types: readonly string[]): JsonSchema {
  return {
    type: "object",
    required: ["type", "timestamp", "data"],
    properties: {
      type: { enum: types, description: "Resource and what happened to the row." },
      timestamp: { type: "string", format: "date-time", description: "When the row changed." },
      data: {
        type: "object",
        required: ["resource", "id", "path", "changed", "row"],
        properties: {
          resource: { type: "string", description: "Name of the resource." },
          id: { type: "string", format: "uuid" },
          path: { type: "string", description: "Path of the row below `/api`." },
          changed: { type: "array", items: { type: "string" }, description: "Fields that an update changed." },
          row: {
            type: "object",
            description: "The row after the change, or before a deletion, without secrets and files.",
          },
        },
      },
    },
  };
}
