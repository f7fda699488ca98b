import {
  type ConfigOf,
  type DeliveryItem,
  definePlugin,
  failForMissingConfig,
  isInterfaceName,
  type OutcomeDetails,
  type OwnAddress,
  type PluginContext,
} from "#plugin-api";
import { createMediaPortPool } from "../sip/media/media-port.ts";
import { formatReceptionReport } from "../sip/media/rtcp.ts";
import { parseSipUri, type SipUri } from "../sip/user-agent/sip-uri.ts";
import { openSipUserAgent } from "../sip/user-agent/user-agent.ts";
import { createCallQueue } from "./call-queue.ts";
import config from "./config.ts";
import { type DialPlan, parseBlockedNumbers, resolveDialling } from "./dial-plan.ts";
import { sentence } from "./sentences.ts";
import { createSipTrunk } from "./sip-trunk.ts";
import { type CallResult, placeTelephoneCall, type TelephoneCall, type TelephoneCallDeps } from "./telephone-call.ts";

type Context = PluginContext<ConfigOf<typeof config>>;

/** Telephone calls to people: plays the message and accepts responses by key. */
export default definePlugin({
  config,
  async activate(ctx) {
    const uri = ctx.config.trunk ? parseSipUri(ctx.config.trunk) : null;
    const missing = configurationError(ctx.config, uri);
    if (missing !== null || uri === null) return failForMissingConfig(ctx, missing ?? sentence("trunk-missing"));
    const { clock, log, voice, confirm, outcome } = ctx;
    const { port, certificateAuthority: authority, address, user, password } = ctx.config;
    const onError = (error: Error): void =>
      log.error({ event: "sip.socket_failed", err: error.message }, "SIP socket error");
    const isTargetAllowed = allowsLocalTrunk(uri, ctx.isTargetAllowed);
    const userAgent = await openSipUserAgent({ clock, port, tls: null, authority, address, isTargetAllowed, onError });
    const trunk = createSipTrunk({
      ...{ clock, userAgent, uri },
      credentials: user ? { user, password: password ?? "" } : null,
      registeredUser: ctx.config.register ? user : null,
      status: ctx.status,
      onAvailable: () => lines.startNext(),
    });
    const ports = createMediaPortPool({ first: ctx.config.firstMediaPort, last: ctx.config.lastMediaPort });
    const calls = createCallManager(ctx, {
      ...{ clock, voice, confirm, outcome, userAgent, trunk, ports },
      language: ctx.config.language,
      callerName: ctx.config.callerName,
      callerNumber: ctx.config.callerNumber,
      srtp: ctx.config.srtp,
      ringMs: ctx.config.ringSeconds * 1_000,
      repetitions: ctx.config.repetitions,
    });
    const lines = createCallQueue({
      clock,
      maxConcurrent: ctx.config.callsAtOnce,
      perSecond: ctx.config.callsPerSecond,
      isPaused: () => trunk.error !== null,
      placeCall: calls.make,
    });
    ctx.deliver((items) => lines.add(items.filter(calls.mayBegin)));
    ctx.stop(({ deliveryIds }) => {
      lines.drop(deliveryIds);
      calls.cancel(deliveryIds);
    });
    ctx.onEvent("network.changed", ({ addresses }) => {
      userAgent.networkChanged(addresses);
      calls.networkChanged(addresses);
      trunk.networkChanged();
    });
    const end = async (): Promise<void> => {
      ports.close();
      await Promise.all([calls.cancelAll(), trunk.stop()]);
      await userAgent.close();
    };
    ctx.signal.addEventListener("abort", () => void end(), { once: true });
    ctx.status("degraded", sentence("connecting"));
    trunk.start();
  },
});

const LOOPBACK = /^(127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1)$/;

/**
 * A trunk on the appliance itself, which the administrator named, is reached without `network.allowedTargets`; where others
 * lead (redirects, contacts) is judged as ever. @source docs/decisions/0486-one-address-policy.md
 */
function allowsLocalTrunk({ host }: SipUri, isAllowed: (address: string) => boolean): (address: string) => boolean {
  const isLocal = host === "localhost" || LOOPBACK.test(host);
  return (address) => isAllowed(address) || (isLocal && LOOPBACK.test(address));
}

/** Configuration error; null if valid. */
function configurationError(given: Context["config"], uri: SipUri | null): string | null {
  const { trunk, callerNumber, register, user, plus, prefix, address, neverCalled } = given;
  if (!trunk) return sentence("trunk-missing");
  if (uri === null) return sentence("trunk-invalid");
  if (callerNumber !== null && !/^\+?\d{2,19}$/.test(callerNumber)) return sentence("caller-invalid");
  if (!/^[\d*]*$/.test(prefix)) return sentence("prefix-invalid");
  if (!/^\+?\d*$/.test(plus)) return sentence("plus-invalid");
  if (address !== null && !isInterfaceName(address)) return sentence("address-invalid");
  // A skipped entry would be called.
  const [invalid] = parseBlockedNumbers(neverCalled).invalid;
  if (invalid !== undefined) return sentence("never-invalid", { number: invalid });
  return register && !user ? sentence("user-missing") : null;
}

/** Calls by delivery. */
function createCallManager({ config: given, clock, outcome }: Context, deps: TelephoneCallDeps) {
  const calls = new Map<number, TelephoneCall>();
  const plan: DialPlan = {
    internationalPrefix: given.plus,
    outsidePrefix: given.prefix,
    never: parseBlockedNumbers(given.neverCalled).never,
  };

  const report = ({ deliveryId, class: urgency }: DeliveryItem, end: CallResult): void => {
    if (end.kind === "cancelled") return;
    if (end.kind === "talked") {
      const reason =
        end.report === null
          ? end.summary
          : sentence("with-report", { summary: end.summary, report: formatReceptionReport(end.report) });
      outcome(deliveryId, "accepted", { reason, last: true });
      return;
    }
    if (end.kind === "trunk") deps.trunk.reportFailure(end.reason);
    const pauseMs = given.againAfterSeconds * (urgency === "emergency" ? 250 : 1_000);
    outcome(deliveryId, "failed", { reason: end.reason, ...retryPolicy(end.kind, pauseMs) });
  };

  return {
    /** False if the item must not be called, which is reported. */
    mayBegin(item: DeliveryItem): boolean {
      const { deliveryId, device, reached } = item;
      const { error } = resolveDialling(device.deviceIdentifier, plan);
      // The call belonged to an earlier run of the plugin and ended with it.
      if (reached) outcome(deliveryId, reached, { reason: sentence("restarted"), last: true });
      else if (error !== undefined) outcome(deliveryId, "failed", { reason: error, retryable: false });
      return !reached && error === undefined;
    },
    async make(item: DeliveryItem): Promise<void> {
      const { dialled = "" } = resolveDialling(item.device.deviceIdentifier, plan);
      if (clock.now() > item.notAfter) {
        outcome(item.deliveryId, "expired", { reason: sentence("no-line"), inconclusive: true });
        return;
      }
      const call = placeTelephoneCall(item, dialled, deps);
      calls.set(item.deliveryId, call);
      const end = await call.ended;
      calls.delete(item.deliveryId);
      report(item, end);
    },
    cancel(deliveryIds: readonly number[]): void {
      for (const id of deliveryIds) calls.get(id)?.cancel();
    },
    networkChanged(addresses: readonly OwnAddress[]): void {
      for (const call of calls.values()) call.networkChanged(addresses);
    },
    async cancelAll(): Promise<void> {
      for (const call of calls.values()) call.cancel();
      await Promise.all([...calls.values()].map(({ ended: over }) => over));
    },
  };
}

/** Failures of the trunk or the appliance may be temporary; declined calls are retried like busy ones. */
function retryPolicy(
  kind: Exclude<CallResult["kind"], "talked" | "cancelled">,
  pauseMs: number,
): Pick<OutcomeDetails, "retryable" | "retryAfterMs" | "channelDown"> {
  if (kind === "number") return { retryable: false };
  return {
    retryable: true,
    ...(kind === "ours" ? {} : { retryAfterMs: pauseMs }),
    ...(kind === "trunk" && { channelDown: true }),
  };
}
