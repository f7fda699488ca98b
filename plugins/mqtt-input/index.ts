import { definePlugin, parsePayload, type TriggerInput, toTriggerInput } from "#plugin-api";
import config from "./config.ts";
import { createMessageDeduplicator, type MqttMessage } from "./message-deduplication.ts";
import { openMqttConnection } from "./mqtt-connection.ts";
import { matchesTopicFilter, parseTopics, type TopicSubscription } from "./topic-subscriptions.ts";

/** Inputs over MQTT: messages of subscribed topics. */
export default definePlugin({
  config,
  activate(ctx) {
    const { brokerUrl, topics: given, ...login } = ctx.config;
    const { topics, errors } = parseTopics(given);
    if (!brokerUrl) return ctx.status("unconfigured", "brokerUrl must be set");
    if (!/^mqtts?:$/.test(protocolOf(brokerUrl)))
      return ctx.status("degraded", "brokerUrl must be mqtt://host:port or mqtts://host:port");
    if (login.password !== null && login.username === null) errors.push("username must be set if password is set");
    const deduplicator = createMessageDeduplicator(ctx.state);
    ctx.status("degraded", "connecting");
    openMqttConnection({
      ...login,
      url: brokerUrl,
      filters: topics.map(({ filter }) => filter),
      clock: ctx.clock,
      signal: ctx.signal,
      async onMessage(message) {
        const topic = topics.find((each) => matchesTopicFilter(each.filter, message.topic));
        if (!topic || (message.retain && !topic.acceptsRetained)) return;
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
