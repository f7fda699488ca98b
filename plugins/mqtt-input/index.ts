import { definePlugin, parsePayload, type TriggerInput, toTriggerInput } from "#plugin-api";
import config from "./config.ts";
import { createMessageDeduplicator, type MqttMessage } from "./message-deduplication.ts";
import { openMqttConnection } from "./mqtt-connection.ts";
import { matchesTopicFilter, parseTopics, type TopicSubscription } from "./topic-subscriptions.ts";

/** Inputs over MQTT: what a broker tells of the topics that are followed. */
export default definePlugin({
  config,
  activate(ctx) {
    const { brokerUrl, topics: given, ...login } = ctx.config;
    const { topics, errors } = parseTopics(given);
    if (!brokerUrl) return ctx.status("degraded", "no broker is set");
    if (!/^mqtts?:$/.test(protocolOf(brokerUrl)))
      return ctx.status("degraded", "brokerUrl is mqtt://host:port or mqtts://host:port");
    if (login.password !== null && login.username === null) errors.push("a password needs a username");
    const redeliveries = createMessageDeduplicator(ctx.state);
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
        const key = await redeliveries.eventKeyFor(message);
        const input = mqttInput(message, topic, key);
        // What can't be read is no better when it comes again.
        if (typeof input === "string") ctx.log.warn({ topic: message.topic, reason: input }, "no input");
        else await ctx.trigger(input);
        await redeliveries.acknowledge(key);
      },
      onState(state, words) {
        const all = [...errors, words].filter((each) => each !== "").join("; ");
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

/** The input that a message is, or in words why it is none. */
function mqttInput({ topic, payload }: MqttMessage, followed: TopicSubscription, key: string): TriggerInput | string {
  try {
    const input = toTriggerInput({ ...followed, source: followed.source ?? topic }, parsePayload(payload), key);
    return { ...input, values: { topic, ...input.values } };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
