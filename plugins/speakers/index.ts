import { type DeviceReport, definePlugin } from "#plugin-api";
import { createAgentApi } from "./agent-api.ts";
import { type AgentConnection, createAgentConnections } from "./agent-connections.ts";
import { openAgentTokens } from "./agent-tokens.ts";
import config from "./config.ts";
import { createSpeakerDeliveries } from "./deliveries.ts";
import { openSignedRingPlans } from "./signed-ring-plans.ts";
import { parseSpeakerRules } from "./speaker-rules.ts";

/** Plans are looked for every two minutes. own choice */
const OUTDATED_AFTER_MS = 3_600_000;
const SWEEP_MS = 5_000;
/** All agents come at once after a power cut. */
const REPORT_DELAY_MS = 200;
const MIN_SECRET_LENGTH = 16;

/** Speakers with an agent: they ask for commands, play the stream that comes to them, and say what they played. */
export default definePlugin({
  config,
  async activate(ctx) {
    const { clock, log, outcome, stream } = ctx;
    const rules = parseSpeakerRules(ctx.config.rules);
    const tokens = await openAgentTokens(ctx.state);
    const plans = await openSignedRingPlans(ctx);
    const changed = new Map<string, DeviceReport>();
    const report = (): void => {
      const devices = [...changed.values()];
      changed.clear();
      ctx.devices.report(devices).catch((error: Error) => log.warn({ err: error.message }, "devices not stored"));
    };
    const connections = createAgentConnections({
      clock,
      onChange(link, isHere) {
        if (changed.size === 0) clock.after(REPORT_DELAY_MS, report);
        changed.set(link.mac, deviceReport(link, isHere));
      },
    });
    const deliveries = createSpeakerDeliveries({
      ...{ clock, outcome, stream, links: connections },
      settingsOf(mac) {
        const agent = tokens.find(mac);
        return agent && rules.settingsOf({ mac, model: agent.model });
      },
    });
    const { joinSecret, openToAll } = ctx.config;
    const tooShort = joinSecret !== null && joinSecret.length < MIN_SECRET_LENGTH;
    const door = createAgentApi({
      ...{ clock, tokens, connections, rules, openToAll, joinSecret: tooShort ? null : joinSecret },
      report: (devices) => ctx.devices.report(devices),
      ...{ isWanted: deliveries.isWanted, plans, rings: ctx.rings },
      onEvents: (link, events) => deliveries.handleEvents(link, events),
    });
    ctx.route("", door);
    /** Null: what an earlier run said may still stand. */
    let told: string | null = null;
    const tellBehind = (): void => {
      const behind = connections.withOutdatedPlan(OUTDATED_AFTER_MS).map(({ mac }) => `agent:${mac}`);
      if (behind.join() === told) return;
      told = behind.join();
      ctx.rings.behind(behind).catch(() => {
        told = null;
      });
    };
    ctx.deliver((batch) => deliveries.start(batch));
    ctx.stop((request) => deliveries.stop(request));
    ctx.probe(async ({ deviceIdentifier }) =>
      connections.find(deviceIdentifier.slice("agent:".length))
        ? { proof: "answered" }
        : { proof: null, reason: "Its agent is not connected." },
    );
    ctx.every(SWEEP_MS, () => {
      connections.sweep();
      tellBehind();
      deliveries.sweep();
    });
    const faults = [...rules.errors, ...(tooShort ? [`joinSecret has less than ${MIN_SECRET_LENGTH} characters`] : [])];
    if (faults.length > 0) ctx.status("degraded", faults.join("; "));
    else ctx.status("ok");
  },
});

function deviceReport({ mac, address, port, plan }: AgentConnection, isHere: boolean): DeviceReport {
  const attributes = {
    ...{ IsRegistered: String(isHere), IPAddress: address, RtpPort: String(port) },
    ...(plan && { RingPlanUntil: isoTime(plan.until), RingPlanAt: isoTime(plan.inOrderAt) }),
  };
  return { deviceIdentifier: `agent:${mac}`, type: "speakers", description: "", attributes };
}

function isoTime(ms: number | null): string {
  return ms === null ? "" : new Date(ms).toISOString();
}
