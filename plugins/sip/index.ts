import { randomBytes } from "node:crypto";
import { type ConfigOf, type DeviceReport, definePlugin, type PluginContext } from "#plugin-api";
import { createCallRateLimiter } from "./call-rate-limiter.ts";
import config from "./config.ts";
import { createMediaPortPool } from "./media/media-port.ts";
import { createPagingCalls } from "./paging/paging-calls.ts";
import { probeSipDevice } from "./paging/probe.ts";
import { parseTrustedAddresses } from "./phone-line/caller-admission.ts";
import { createIncomingCalls } from "./phone-line/incoming-calls.ts";
import { createSipRegistrar, type SipRegistrar } from "./registrar.ts";
import { parseSipAccounts, type SipAccount } from "./sip-accounts.ts";
import type { SipCredentials } from "./user-agent/digest.ts";
import { type Hop, resolveHop } from "./user-agent/hop.ts";
import type { SipUri } from "./user-agent/sip-uri.ts";
import { openSipUserAgent } from "./user-agent/user-agent.ts";

type Context = PluginContext<ConfigOf<typeof config>>;

const SWEEP_MS = 60_000;

/** SIP phones and speakers with auto-answer. */
export default definePlugin({
  config,
  async activate(ctx) {
    const { clock, log, outcome, stream } = ctx;
    const { accounts, errors } = parseSipAccounts(ctx.config.accounts);
    const { trusted, errors: addressErrors } = parseTrustedAddresses(ctx.config.trustedAddresses);
    errors.push(...addressErrors);
    const registrar = createDeviceRegistrar(ctx, accounts);
    const userAgent = await openSipUserAgent({
      clock,
      port: ctx.config.port,
      tls: tlsSettings(ctx.config),
      authority: ctx.config.certificateAuthority,
      address: ctx.config.address,
      isTargetAllowed: ctx.isTargetAllowed,
      onRegister: registrar.handleRegister,
      onCall: (call) => incomingCalls.handle(call),
      onError: (error) => log.error({ event: "sip.socket_failed", err: error.message }, "SIP socket error"),
    });
    const ports = createMediaPortPool({ first: ctx.config.firstMediaPort, last: ctx.config.lastMediaPort });
    const incomingCalls = createIncomingCalls({
      ...{ clock, log, userAgent, ports, registrar, trusted },
      phone: ctx.phone,
      hasAccounts: accounts.size > 0,
      srtp: ctx.config.srtp,
      maxCalls: ctx.config.incomingCalls,
      silenceMs: ctx.config.silenceSeconds * 1_000,
    });
    const directory = { registrar, accounts, credentials: credentialsFrom(ctx.config.user, ctx.config.password) };
    const rateLimiter = createCallRateLimiter(clock, ctx.config.callsPerSecond);
    const pages = createPagingCalls({
      clock,
      userAgent,
      ports,
      rateLimiter,
      directory,
      callerName: ctx.config.callerName,
      srtp: ctx.config.srtp,
      redirect: (uri) => resolveRedirection(uri, ctx),
      outcome,
      stream,
    });
    ctx.signal.addEventListener(
      "abort",
      () => {
        void Promise.all([pages.close(), incomingCalls.close()]).finally(() => userAgent.close());
        // Not only after the devices have answered the hang-ups: some never do.
        ports.close();
      },
      { once: true },
    );
    ctx.signal.addEventListener("abort", registrar.stop, { once: true });
    ctx.deliver((batch) => pages.start(batch));
    ctx.stop((request) => pages.stop(request));
    ctx.probe((device) => probeSipDevice(device, { agent: userAgent, directory }));
    ctx.onEvent("network.changed", ({ addresses }) => {
      userAgent.networkChanged(addresses);
      pages.networkChanged(addresses);
      incomingCalls.networkChanged(addresses);
    });
    ctx.every(SWEEP_MS, () => pages.sweep());
    log.debug({ event: "sip.listening", ports: userAgent.ports }, "SIP listening");
    if (errors.length > 0) ctx.status("degraded", errors.join("; "));
    else ctx.status("ok");
  },
});

function tlsSettings({ tlsPort: port, tlsCertificate: certificate, tlsKey: key }: Context["config"]) {
  return certificate && key ? { port, certificate, key } : null;
}

function credentialsFrom(user: string | null, password: string | null): SipCredentials | null {
  return user ? { user, password: password ?? "" } : null;
}

/** Resolves the target of a redirection under the address policy; rejects otherwise. */
async function resolveRedirection(uri: SipUri, ctx: Context): Promise<Hop> {
  const hop = await resolveHop({ ...uri, host: await ctx.resolveTarget(uri.host) });
  return hop.protocol === "tls" ? { ...hop, name: uri.host } : hop;
}

/** Creates a registrar that reports registrations to the appliance; other attributes of a device stay. */
function createDeviceRegistrar(ctx: Context, accounts: ReadonlyMap<string, SipAccount>): SipRegistrar {
  const { clock, log } = ctx;
  const changed = new Map<string, DeviceReport>();
  const sendReport = (): void => {
    const devices = [...changed.values()];
    changed.clear();
    ctx.devices
      .report(devices)
      .catch((error: Error) =>
        log.warn({ event: "device.report_failed", err: error.message }, "failed to report devices"),
      );
  };
  const report = ({ user, type }: SipAccount, attributes: Record<string, string>): void => {
    if (changed.size === 0) clock.after(REPORT_DELAY_MS, sendReport);
    const merged = { ...changed.get(user)?.attributes, ...attributes };
    changed.set(user, { deviceIdentifier: `sip:${user}`, type, description: "", attributes: merged });
  };
  const { digest, digestWithoutQop: isQopOptional, realm } = ctx.config;
  const registrar: SipRegistrar = createSipRegistrar({
    ...{ clock, realm, isQopOptional, accounts },
    key: randomBytes(32),
    algorithms: digest === "both" ? ["SHA-256", "MD5"] : [digest],
    onChange(account, contact) {
      if (contact === null) return report(account, { IsRegistered: "false" });
      report(account, { IsRegistered: "true", RegisteredContact: contact, RegistrationProblem: "" });
    },
    onRefused({ user, account, host: address, reason }) {
      log.warn({ event: "sip.registration_refused", user, address, reason }, "SIP registration refused");
      if (!account) return;
      const isRegistered = registrar.bindingsOf(account.user).length > 0;
      report(account, { IsRegistered: String(isRegistered), RegistrationProblem: `${reason} (from ${address})` });
    },
  });
  return registrar;
}

/** Thousands of devices register at once after a power cut. */
const REPORT_DELAY_MS = 200;
