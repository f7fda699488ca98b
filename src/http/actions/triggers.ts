import triggerDeliveries from "../../resources/webhooks/trigger-deliveries.ts";
import triggers from "../../resources/webhooks/triggers.ts";
import { text } from "../../schema/field.ts";
import { createTrigger, replayDelivery, rotateTriggerSecret } from "../../webhooks/trigger-service.ts";
import { type Action, requireVisibleRow } from "../action.ts";
import { addMembers } from "./add-members.ts";

const SECRET = text("Signing key, `whsec_` and base64; returned only once.");

/**
 * Triggers and their signing keys, which are returned only by these requests.
 * @source docs/decisions/0013-other-resources.md, Triggers
 */
export const triggerActions: readonly Action[] = [
  {
    method: "post",
    at: "triggers",
    doc: "Creates a trigger. A generated signing key is returned only here.",
    response: { kind: "row", resource: triggers, with: { secret: SECRET } },
    accepts: triggers.fields,
    async handle(request) {
      const { row, secret } = await createTrigger(request.deps.store, request.body, request.by);
      const response = await request.respondWithRow(triggers, row);
      return secret === null ? response : addMembers(response, { secret });
    },
  },
  {
    method: "post",
    at: "triggers/{triggerId}/rotate-secret",
    doc: "Rotates the signing key; the new key is returned only here. The previous key stays valid for a day.",
    response: { kind: "row", resource: triggers, with: { secret: SECRET } },
    async handle(request) {
      const { id } = requireVisibleRow(request, triggers, request.params.triggerId ?? "");
      const { row, secret } = await rotateTriggerSecret(request.deps, id, request.by);
      return addMembers(await request.respondWithRow(triggers, row), { secret });
    },
  },
  {
    method: "post",
    at: "triggers/{triggerId}/deliveries/{deliveryId}/replay",
    doc: "Replays a delivery with the same webhook-id.",
    response: { kind: "row", resource: triggerDeliveries },
    async handle(request) {
      const trigger = requireVisibleRow(request, triggers, request.params.triggerId ?? "");
      const delivery = requireVisibleRow(request, triggerDeliveries, request.params.deliveryId ?? "");
      return request.respondWithRow(
        triggerDeliveries,
        await replayDelivery(request.deps.store, trigger.id, delivery.id),
      );
    },
  },
];
