import { isIPv4 } from "node:net";
import { type ConfigOf, type DeliveryItem, definePlugin, failForMissingConfig, type PluginContext } from "#plugin-api";
import { createMediaPortPool } from "../sip/media/media-port.ts";
import { formatReceptionReport } from "../sip/media/rtcp.ts";
import { parseSipUri, type SipUri } from "../sip/user-agent/sip-uri.ts";
import { openSipUserAgent } from "../sip/user-agent/user-agent.ts";
import { createCallQueue } from "./call-queue.ts";
import config from "./config.ts";
import { type DialPlan, parseBlockedNumbers, resolveDialling } from "./dial-plan.ts";
import { createSipTrunk } from "./sip-trunk.ts";
import { type CallResult, placeTelephoneCall, type TelephoneCall, type TelephoneCallDeps } from "./telephone-call.ts";

type Context = PluginContext<ConfigOf<typeof config>>;

/** Calls people by telephone: says the message, takes answers by keys. */
export default definePlugin({
  config,
  async activate(ctx) {
    const uri = ctx.config.trunk ? parseSipUri(ctx.config.trunk) : null;
    const missing = configurationError(ctx.config, uri);
    if (missing !== null || uri === null) return failForMissingConfig(ctx, missing ?? "trunk is not set");
    const { clock, log, voice, confirm, outcome } = ctx;
    const { port, certificateAuthority: authority, address, user, password } = ctx.config;
    const onError = (error: Error): void => log.error({ err: error.message }, "a socket failed");
    const userAgent = await openSipUserAgent({ clock, port, tls: null, authority, address, onError });
    const trunk = createSipTrunk({
      ...{ clock, userAgent, uri },
      credentials: user ? { user, password: password ?? "" } : null,
      registeredUser: ctx.config.register ? user : null,
      status: ctx.status,
      onAvailable: () => lines.startNext(),
    });
    const calls = createCallManager(ctx, {
      ...{ clock, voice, confirm, outcome, userAgent, trunk },
      ports: createMediaPortPool({ first: ctx.config.firstMediaPort, last: ctx.config.lastMediaPort }),
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
    const end = async (): Promise<void> => {
      await Promise.all([calls.cancelAll(), trunk.stop()]);
      await userAgent.close();
    };
    ctx.signal.addEventListener("abort", () => void end(), { once: true });
    ctx.status("degraded", "asking the trunk");
    trunk.start();
  },
});

/** What is wrong with the configuration, in words; null when nothing is. */
function configurationError(given: Context["config"], uri: SipUri | null): string | null {
  const { trunk, callerNumber, register, user, plus, prefix, address, neverCalled } = given;
  if (!trunk) return "trunk is not set";
  if (uri === null) return "trunk is no address such as sip:trunk.example.org;transport=tls";
  if (callerNumber !== null && !/^\+?\d{2,19}$/.test(callerNumber)) return "callerNumber is no telephone number";
  if (!/^[\d*]*$/.test(prefix)) return "prefix holds more than digits";
  if (!/^\+?\d*$/.test(plus)) return "plus is neither a plus nor digits";
  if (address !== null && !isIPv4(address)) return "address is no IPv4 address";
  // One that is passed over would be called.
  const [fault] = parseBlockedNumbers(neverCalled).faults;
  if (fault !== undefined) return `neverCalled: ${fault} is no number in digits`;
  return register && !user ? "register needs user" : null;
}

/** The calls of the plugin, by delivery. */
function createCallManager({ config: given, clock, outcome }: Context, needs: TelephoneCallDeps) {
  const calls = new Map<number, TelephoneCall>();
  const plan: DialPlan = {
    internationalPrefix: given.plus,
    outsidePrefix: given.prefix,
    never: parseBlockedNumbers(given.neverCalled).never,
  };

  const report = ({ deliveryId, class: urgency }: DeliveryItem, end: CallResult): void => {
    if (end.kind === "cancelled") return;
    if (end.kind === "talked") {
      const words = end.report === null ? end.words : `${end.words} Of the sound ${formatReceptionReport(end.report)}.`;
      outcome(deliveryId, "accepted", { reason: words, last: true });
      return;
    }
    if (end.kind === "trunk") needs.trunk.reportFailure(end.reason);
    const pauseMs = given.againAfterSeconds * (urgency === "emergency" ? 250 : 1_000);
    outcome(deliveryId, "failed", { reason: end.reason, ...retryPolicy(end.kind, pauseMs) });
  };

  return {
    /** False for what is not to be called, which is told. */
    mayBegin(item: DeliveryItem): boolean {
      const { deliveryId, device, reached } = item;
      const { fault } = resolveDialling(device.deviceIdentifier, plan);
      // An earlier run of the plugin had the call, which ended with it.
      if (reached) outcome(deliveryId, reached, { reason: "The appliance failed during the call.", last: true });
      else if (fault !== undefined) outcome(deliveryId, "failed", { reason: fault, retryable: false });
      return !reached && fault === undefined;
    },
    async make(item: DeliveryItem): Promise<void> {
      const { dialled = "" } = resolveDialling(item.device.deviceIdentifier, plan);
      if (clock.now() > item.notAfter) {
        outcome(item.deliveryId, "expired", { reason: "It was too late when a line was free." });
        return;
      }
      const call = placeTelephoneCall(item, dialled, needs);
      calls.set(item.deliveryId, call);
      const end = await call.ended;
      calls.delete(item.deliveryId);
      report(item, end);
    },
    cancel(deliveryIds: readonly number[]): void {
      for (const id of deliveryIds) calls.get(id)?.cancel();
    },
    async cancelAll(): Promise<void> {
      for (const call of calls.values()) call.cancel();
      await Promise.all([...calls.values()].map(({ ended: over }) => over));
    },
  };
}

/** own choice: what is wrong with the trunk or with us may be over soon; who declines is called again as who is busy. */
function retryPolicy(
  kind: Exclude<CallResult["kind"], "talked" | "cancelled">,
  pauseMs: number,
): { retryable: boolean; retryAfterMs?: number } {
  if (kind === "number") return { retryable: false };
  return { retryable: true, ...(kind === "ours" ? {} : { retryAfterMs: pauseMs }) };
}
