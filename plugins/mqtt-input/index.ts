import { randomUUID } from "node:crypto";
import { definePlugin, type PluginContext, parsePayload, type TriggerInput, toTriggerInput } from "#plugin-api";
import config from "./config.ts";
import { createMessageDeduplicator, hasReceived, type MqttMessage } from "./message-deduplication.ts";
import { openMqttConnection } from "./mqtt-connection.ts";
import { sentence } from "./sentences.ts";
import { matchesTopicFilter, parseTopics, type TopicSubscription } from "./topic-subscriptions.ts";

/** Inputs over MQTT: messages of subscribed topics. */
export default definePlugin({
  config,
  async activate(ctx) {
    const { brokerUrl, topics: given, ...login } = ctx.config;
    const { topics, errors } = parseTopics(given);
    if (!brokerUrl) return ctx.status("unconfigured", sentence("url-missing"));
    if (!/^mqtts?:$/.test(protocolOf(brokerUrl))) return ctx.status("degraded", sentence("url-invalid"));
    if (login.password !== null && login.username === null) errors.push(sentence("user-missing"));
    const deduplicator = createMessageDeduplicator(ctx.state);
    ctx.status("degraded", sentence("connecting"));
    const clientId = login.clientId ?? (await createClientId(ctx.state));
    if (ctx.signal.aborted) return;
    openMqttConnection({
      ...{ ...login, clientId },
      url: brokerUrl,
      filters: topics.map(({ filter }) => filter),
      clock: ctx.clock,
      signal: ctx.signal,
      async onMessage(message) {
        const topic = topics.find((each) => matchesTopicFilter(each.filter, message.topic));
        if (!topic) {
          // Acknowledged: the broker still has a subscription that is no longer configured.
          ctx.log.warn({ event: "mqtt.topic_unknown", topic: message.topic }, "message of an unknown topic ignored");
          return;
        }
        if (message.retain && !topic.acceptsRetained) {
          ctx.log.debug({ event: "mqtt.retained_ignored", topic: message.topic }, "retained message ignored");
          return;
        }
        const key = await deduplicator.eventKeyFor(message);
        const input = mqttInput(message, topic, key);
        // An unreadable message is acknowledged: redelivery would not help.
        if (typeof input === "string")
          ctx.log.warn(
            { event: "mqtt.message_invalid", topic: message.topic, reason: input },
            "invalid message ignored",
          );
        else await ctx.trigger(input);
        await deduplicator.acknowledge(key);
      },
      onState(state, reason) {
        const all = [...errors, reason].filter((each) => each !== "").join("; ");
        if (state === "down") ctx.status("down", all);
        else if (all !== "") ctx.status("degraded", all);
        else ctx.status("ok");
      },
    });
  },
});

/** Client id of this appliance: two with the same one would disconnect each other. */
async function createClientId(state: PluginContext["state"]): Promise<string> {
  const known = await state.get("clientId");
  if (typeof known === "string") return known;
  // An appliance that received messages before keeps its session, in which the broker queues them.
  const id = (await hasReceived(state)) ? "carillon" : `carillon-${randomUUID()}`;
  await state.set("clientId", id);
  return id;
}

function protocolOf(url: string): string {
  return URL.canParse(url) ? new URL(url).protocol : "";
}

/** Trigger input of a message, or an error message. */
function mqttInput(
  { topic, payload }: MqttMessage,
  subscription: TopicSubscription,
  key: string,
): TriggerInput | string {
  try {
    const input = toTriggerInput({ ...subscription, source: subscription.source ?? topic }, parsePayload(payload), key);
    return { ...input, values: { topic, ...input.values } };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
