import { type Clock, type DeviceReport, definePlugin, type PluginLog } from "#plugin-api";
import { createAgentApi } from "./agent-api.ts";
import { type AgentConnection, createAgentConnections } from "./agent-connections.ts";
import { openAgentTokens } from "./agent-tokens.ts";
import config from "./config.ts";
import { createSpeakerDeliveries } from "./deliveries.ts";
import { createRegistrationLimits } from "./registration-limits.ts";
import { sentence } from "./sentences.ts";
import { openSignedRingPlans } from "./signed-ring-plans.ts";
import { createSourceAddresses } from "./source-addresses.ts";
import { parseSpeakerRules } from "./speaker-rules.ts";
import { createStrangerReports } from "./stranger-reports.ts";
import { createZoneStreams, zoneKey } from "./zone-streams.ts";

/** Agents refresh their plans every two minutes. */
const OUTDATED_AFTER_MS = 3_600_000;
const SWEEP_MS = 5_000;
/** All agents connect at once after a power cut. */
const REPORT_DELAY_MS = 200;
const MIN_SECRET_LENGTH = 16;
const WRONG_SECRET_LOG_MS = 60_000;

/** Speakers with an agent: they poll for commands, play the stream sent to them, and report playback. */
export default definePlugin({
  config,
  async activate(ctx) {
    const { clock, log, outcome, stream } = ctx;
    const rules = parseSpeakerRules(ctx.config.rules);
    const tokens = await openAgentTokens(ctx.state);
    const plans = await openSignedRingPlans(ctx);
    const errors: string[] = [];
    const strangers = createStrangerReports(clock, log);
    const zoneStreams = createZoneStreams(clock);
    const sources = createSourceAddresses();
    const changed = new Map<string, DeviceReport>();
    const report = (): void => {
      const devices = [...changed.values()];
      changed.clear();
      ctx.devices
        .report(devices)
        .catch((error: Error) =>
          log.warn({ event: "device.report_failed", err: error.message }, "failed to report devices"),
        );
    };
    const connections = createAgentConnections({
      clock,
      onChange(link, isHere) {
        if (isHere) sources.learn(link.address);
        if (changed.size === 0) clock.after(REPORT_DELAY_MS, report);
        changed.set(link.mac, deviceReport(link, isHere));
      },
    });
    const deliveries = createSpeakerDeliveries({
      ...{ clock, outcome, stream, links: connections, sourceTowards: sources.towards },
      supportsSrtp: (mac) => connections.find(mac)?.srtp ?? tokens.find(mac)?.srtp ?? false,
      settingsOf(mac) {
        const agent = tokens.find(mac);
        return agent && rules.settingsOf({ mac, model: agent.model });
      },
    });
    const { joinSecret, openToAll } = ctx.config;
    const tooShort = joinSecret !== null && joinSecret.length < MIN_SECRET_LENGTH;
    const handleRequest = createAgentApi({
      ...{ clock, tokens, connections, rules, openToAll, joinSecret: tooShort ? null : joinSecret },
      report: (devices) => ctx.devices.report(devices),
      ...{ isWanted: deliveries.isWanted, plans, rings: ctx.rings },
      ...{ streams: zoneStreams, limits: createRegistrationLimits(clock) },
      onEvents: (link, events) => deliveries.handleEvents(link, events),
      onStrangers(mac, report) {
        strangers.note(mac, report);
        updateStatus();
      },
      onWrongSecret: createWrongSecretLog(clock, log),
    });
    ctx.route("", handleRequest);
    /** Null: an earlier run may have reported outdated plans. */
    let reported: string | null = null;
    const reportOutdated = (): void => {
      const outdated = connections.withOutdatedPlan(OUTDATED_AFTER_MS).map(({ mac }) => `agent:${mac}`);
      if (outdated.join() === reported) return;
      reported = outdated.join();
      ctx.rings.behind(outdated).catch(() => {
        reported = null;
      });
    };
    ctx.onEvent("multicast.changed", ({ streams }) => {
      const groups = zoneStreams.update(streams);
      connections.refresh(({ srtp, settings }) => srtp && settings.zones.some((zone) => groups.has(zoneKey(zone))));
    });
    ctx.onEvent("network.changed", sources.forget);
    ctx.deliver((batch) => deliveries.start(batch));
    ctx.stop((request) => deliveries.stop(request));
    ctx.probe(async ({ deviceIdentifier }) =>
      connections.find(deviceIdentifier.slice("agent:".length))
        ? { proof: "answered" }
        : { proof: null, reason: sentence("agent-not-connected") },
    );
    ctx.every(SWEEP_MS, () => {
      connections.sweep();
      reportOutdated();
      deliveries.sweep();
      updateStatus();
    });
    errors.push(...rules.errors, ...(tooShort ? [sentence("secret-short", { length: MIN_SECRET_LENGTH })] : []));
    let shown: string | null = null;
    updateStatus();

    function updateStatus(): void {
      const notice = strangers.notice();
      const text = [...errors, ...(notice === null ? [] : [notice])].join("; ");
      if (text === shown) return;
      shown = text;
      if (text === "") ctx.status("ok");
      else ctx.status("degraded", text);
    }
  },
});

/** Logs wrong join secrets, at most once a minute. */
function createWrongSecretLog(clock: Clock, log: PluginLog): (address: string) => void {
  let count = 0;
  let loggedAt = Number.NEGATIVE_INFINITY;
  return (address) => {
    count++;
    if (clock.monotonicMs() - loggedAt < WRONG_SECRET_LOG_MS) return;
    log.warn({ event: "speakers.join_secret_wrong", address, count }, "wrong join secret refused");
    loggedAt = clock.monotonicMs();
    count = 0;
  };
}

function deviceReport({ mac, address, port, plan, srtp }: AgentConnection, isHere: boolean): DeviceReport {
  const attributes = {
    ...{ IsRegistered: String(isHere), IPAddress: address, RtpPort: String(port) },
    AudioEncryption: srtp ? "SRTP" : "none",
    ...(plan && { RingPlanUntil: isoTime(plan.until), RingPlanAt: isoTime(plan.inOrderAt) }),
  };
  return { deviceIdentifier: `agent:${mac}`, type: "speakers", description: "", attributes };
}

function isoTime(ms: number | null): string {
  return ms === null ? "" : new Date(ms).toISOString();
}
