import { definePlugin, machineInput, saidIn, type TriggerInput } from "#plugin-api";
import config from "./config.ts";
import { openConnection } from "./connection.ts";
import { type Arrived, createRedeliveries } from "./redeliveries.ts";
import { type Followed, isMeant, readTopics } from "./topics.ts";

/** Inputs over MQTT: what a broker tells of the topics that are followed. */
export default definePlugin({
  config,
  activate(ctx) {
    const { brokerUrl, topics: given, ...login } = ctx.config;
    const { topics, faults } = readTopics(given);
    if (!brokerUrl) return ctx.status("degraded", "no broker is set");
    if (!/^mqtts?:$/.test(protocolOf(brokerUrl)))
      return ctx.status("degraded", "brokerUrl is mqtt://host:port or mqtts://host:port");
    if (login.password !== null && login.username === null) faults.push("a password needs a username");
    const redeliveries = createRedeliveries(ctx.state);
    ctx.status("degraded", "connecting");
    openConnection({
      ...login,
      url: brokerUrl,
      filters: topics.map(({ filter }) => filter),
      clock: ctx.clock,
      signal: ctx.signal,
      async take(message) {
        const topic = topics.find((each) => isMeant(each.filter, message.topic));
        if (!topic || (message.retain && !topic.retained)) return;
        const key = await redeliveries.keyOf(message);
        const input = inputOf(message, topic, key);
        // What can't be read is no better when it comes again.
        if (typeof input === "string") ctx.log.warn({ topic: message.topic, reason: input }, "no input");
        else await ctx.trigger(input);
        await redeliveries.taken(key);
      },
      onState(state, words) {
        const all = [...faults, words].filter((each) => each !== "").join("; ");
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
function inputOf({ topic, payload }: Arrived, followed: Followed, key: string): TriggerInput | string {
  try {
    const input = machineInput({ ...followed, source: followed.source ?? topic }, saidIn(payload), key);
    return { ...input, values: { topic, ...input.values } };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
