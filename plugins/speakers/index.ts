import { type DeviceReport, definePlugin } from "#plugin-api";
import config from "./config.ts";
import { createDeliveries } from "./deliveries.ts";
import { createDoor } from "./door.ts";
import { type AgentLink, createLinks } from "./links.ts";
import { openPlans } from "./plans.ts";
import { readRules } from "./rules.ts";
import { openTokens } from "./tokens.ts";

/** Plans are looked for every two minutes. own choice */
const BEHIND_MS = 3_600_000;
const SWEEP_MS = 5_000;
/** All agents come at once after a power cut. */
const REPORT_MS = 200;
const SHORTEST_SECRET = 16;

/** Speakers with an agent: they ask for commands, play the stream that comes to them, and say what they played. */
export default definePlugin({
  config,
  async activate(ctx) {
    const { clock, log, outcome, stream } = ctx;
    const rules = readRules(ctx.config.rules);
    const tokens = await openTokens(ctx.state);
    const plans = await openPlans(ctx);
    const changed = new Map<string, DeviceReport>();
    const report = (): void => {
      const devices = [...changed.values()];
      changed.clear();
      ctx.devices.report(devices).catch((error: Error) => log.warn({ err: error.message }, "devices not stored"));
    };
    const links = createLinks({
      clock,
      onChange(link, isHere) {
        if (changed.size === 0) clock.after(REPORT_MS, report);
        changed.set(link.mac, deviceOf(link, isHere));
      },
    });
    const deliveries = createDeliveries({
      ...{ clock, outcome, stream, links },
      settingsOf(mac) {
        const agent = tokens.agentOf(mac);
        return agent && rules.settingsOf({ mac, model: agent.model });
      },
    });
    const { joinSecret, openToAll } = ctx.config;
    const tooShort = joinSecret !== null && joinSecret.length < SHORTEST_SECRET;
    const door = createDoor({
      ...{ clock, tokens, links, rules, openToAll, joinSecret: tooShort ? null : joinSecret },
      report: (devices) => ctx.devices.report(devices),
      ...{ isWanted: deliveries.isWanted, plans, rings: ctx.rings },
      onEvents: (link, events) => deliveries.heard(link, events),
    });
    ctx.route("", door);
    /** Null: what an earlier run said may still stand. */
    let told: string | null = null;
    const tellBehind = (): void => {
      const behind = links.behind(BEHIND_MS).map(({ mac }) => `agent:${mac}`);
      if (behind.join() === told) return;
      told = behind.join();
      ctx.rings.behind(behind).catch(() => {
        told = null;
      });
    };
    ctx.deliver((batch) => deliveries.take(batch));
    ctx.stop((request) => deliveries.stop(request));
    ctx.probe(async ({ deviceIdentifier }) =>
      links.find(deviceIdentifier.slice("agent:".length))
        ? { proof: "answered" }
        : { proof: null, reason: "Its agent is not connected." },
    );
    ctx.every(SWEEP_MS, () => {
      links.sweep();
      tellBehind();
      deliveries.sweep();
    });
    const faults = [...rules.faults, ...(tooShort ? [`joinSecret has less than ${SHORTEST_SECRET} characters`] : [])];
    if (faults.length > 0) ctx.status("degraded", faults.join("; "));
    else ctx.status("ok");
  },
});

function deviceOf({ mac, address, port, plan }: AgentLink, isHere: boolean): DeviceReport {
  const attributes = {
    ...{ IsRegistered: String(isHere), IPAddress: address, RtpPort: String(port) },
    ...(plan && { RingPlanUntil: timeOf(plan.until), RingPlanAt: timeOf(plan.inOrderAt) }),
  };
  return { deviceIdentifier: `agent:${mac}`, type: "speakers", description: "", attributes };
}

function timeOf(ms: number | null): string {
  return ms === null ? "" : new Date(ms).toISOString();
}
