import triggerDeliveries from "../../resources/webhooks/trigger-deliveries.ts";
import triggers from "../../resources/webhooks/triggers.ts";
import { text } from "../../schema/field.ts";
import { createTrigger, replayDelivery, rotateTriggerSecret } from "../../webhooks/trigger-service.ts";
import { type Action, requireVisibleRow } from "../action.ts";
import { addMembers } from "./add-members.ts";

const SECRET = text("Key of the signature, `whsec_` and base64; told once.");

/** Triggers and their secrets, which stand in the answers to these requests alone. @source decisions.md 13, Triggers */
export const triggerActions: readonly Action[] = [
  {
    method: "post",
    at: "triggers",
    doc: "Makes a trigger; the key of its signature is in the answer when none was given, and nowhere else.",
    response: { kind: "row", resource: triggers, with: { secret: SECRET } },
    accepts: triggers.fields,
    async handle(request) {
      const { row, secret } = await createTrigger(request.needs.store, request.body, request.by);
      const answer = await request.respondWithRow(triggers, row);
      return secret === null ? answer : addMembers(answer, { secret });
    },
  },
  {
    method: "post",
    at: "triggers/{triggerId}/rotate-secret",
    doc: "Gives a trigger a new key, which is in the answer only; the key before stays good for a day.",
    response: { kind: "row", resource: triggers, with: { secret: SECRET } },
    async handle(request) {
      const { id } = requireVisibleRow(request, triggers, request.params.triggerId ?? "");
      const { row, secret } = await rotateTriggerSecret(request.needs, id, request.by);
      return addMembers(await request.respondWithRow(triggers, row), { secret });
    },
  },
  {
    method: "post",
    at: "triggers/{triggerId}/deliveries/{deliveryId}/replay",
    doc: "Tells a write again, with the same webhook-id.",
    response: { kind: "row", resource: triggerDeliveries },
    async handle(request) {
      const trigger = requireVisibleRow(request, triggers, request.params.triggerId ?? "");
      const delivery = requireVisibleRow(request, triggerDeliveries, request.params.deliveryId ?? "");
      return request.respondWithRow(
        triggerDeliveries,
        await replayDelivery(request.needs.store, trigger.id, delivery.id),
      );
    },
  },
];
