import { createTrigger, replayDelivery, rotateSecret } from "../../outbound/triggers.ts";
import triggerDeliveries from "../../resources/outbound/trigger-deliveries.ts";
import triggers from "../../resources/outbound/triggers.ts";
import { text } from "../../schema/field.ts";
import { type Action, visibleRow } from "../action.ts";
import { withMembers } from "./answer-members.ts";

const SECRET = text("Key of the signature, `whsec_` and base64; told once.");

/** Triggers and their secrets, which stand in the answers to these requests alone. @source decisions.md 13, Triggers */
export const triggerActions: readonly Action[] = [
  {
    method: "post",
    at: "triggers",
    doc: "Makes a trigger; the key of its signature is in the answer when none was given, and nowhere else.",
    answers: { kind: "row", resource: triggers, with: { secret: SECRET } },
    accepts: triggers.fields,
    async handle(request) {
      const { row, secret } = await createTrigger(request.needs.store, request.body, request.by);
      const answer = await request.show(triggers, row);
      return secret === null ? answer : withMembers(answer, { secret });
    },
  },
  {
    method: "post",
    at: "triggers/{triggerId}/rotate-secret",
    doc: "Gives a trigger a new key, which is in the answer only; the key before stays good for a day.",
    answers: { kind: "row", resource: triggers, with: { secret: SECRET } },
    async handle(request) {
      const { id } = visibleRow(request, triggers, request.params.triggerId ?? "");
      const { row, secret } = await rotateSecret(request.needs, id, request.by);
      return withMembers(await request.show(triggers, row), { secret });
    },
  },
  {
    method: "post",
    at: "triggers/{triggerId}/deliveries/{deliveryId}/replay",
    doc: "Tells a write again, with the same webhook-id.",
    answers: { kind: "row", resource: triggerDeliveries },
    async handle(request) {
      const trigger = visibleRow(request, triggers, request.params.triggerId ?? "");
      const delivery = visibleRow(request, triggerDeliveries, request.params.deliveryId ?? "");
      return request.show(triggerDeliveries, await replayDelivery(request.needs.store, trigger.id, delivery.id));
    },
  },
];
