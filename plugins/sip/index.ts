import { randomBytes } from "node:crypto";
import { type ConfigOf, type DeviceReport, definePlugin, type PluginContext } from "#plugin-api";
import { createCallRateLimiter } from "./call-rate-limiter.ts";
import config from "./config.ts";
import { createMediaPortPool } from "./media/media-port.ts";
import { createPagingCalls } from "./paging/paging-calls.ts";
import { probeSipDevice } from "./paging/probe.ts";
import { createSipRegistrar, type SipRegistrar } from "./registrar.ts";
import { parseSipAccounts, type SipAccount } from "./sip-accounts.ts";
import type { SipCredentials } from "./user-agent/digest.ts";
import { openSipUserAgent } from "./user-agent/user-agent.ts";

type Context = PluginContext<ConfigOf<typeof config>>;

const SWEEP_MS = 60_000;

/** SIP phones and speakers with auto-answer. */
export default definePlugin({
  config,
  async activate(ctx) {
    const { clock, log, outcome, stream } = ctx;
    const { accounts, errors } = parseSipAccounts(ctx.config.accounts);
    const registrar = createDeviceRegistrar(ctx, accounts);
    const userAgent = await openSipUserAgent({
      clock,
      port: ctx.config.port,
      tls: tlsSettings(ctx.config),
      authority: ctx.config.certificateAuthority,
      address: ctx.config.address,
      onRegister: registrar.handleRegister,
      onError: (error) => log.error({ event: "sip.socket_failed", err: error.message }, "SIP socket error"),
    });
    const ports = createMediaPortPool({ first: ctx.config.firstMediaPort, last: ctx.config.lastMediaPort });
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
      outcome,
      stream,
    });
    ctx.signal.addEventListener("abort", () => void pages.close().finally(() => userAgent.close()), { once: true });
    ctx.signal.addEventListener("abort", registrar.stop, { once: true });
    ctx.deliver((batch) => pages.start(batch));
    ctx.stop((request) => pages.stop(request));
    ctx.probe((device) => probeSipDevice(device, { agent: userAgent, directory }));
    ctx.onEvent("network.changed", ({ addresses }) => {
      userAgent.networkChanged(addresses);
      pages.networkChanged(addresses);
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

/** Creates a registrar that reports registered devices to the appliance; other attributes of a device stay. */
function createDeviceRegistrar(ctx: Context, accounts: ReadonlyMap<string, SipAccount>): SipRegistrar {
  const changed = new Map<string, DeviceReport>();
  const report = (): void => {
    const devices = [...changed.values()];
    changed.clear();
    ctx.devices
      .report(devices)
      .catch((error: Error) =>
        ctx.log.warn({ event: "device.report_failed", err: error.message }, "failed to report devices"),
      );
  };
  const { digest } = ctx.config;
  return createSipRegistrar({
    clock: ctx.clock,
    realm: ctx.config.realm,
    key: randomBytes(32),
    algorithms: digest === "both" ? ["SHA-256", "MD5"] : [digest],
    accounts,
    onChange({ user, type }, contact) {
      if (changed.size === 0) ctx.clock.after(REPORT_DELAY_MS, report);
      const deviceIdentifier = `sip:${user}`;
      const attributes =
        contact === null ? { IsRegistered: "false" } : { IsRegistered: "true", RegisteredContact: contact };
      changed.set(user, { deviceIdentifier, type, description: "", attributes });
    },
  });
}

/** Thousands of devices register at once after a power cut. */
const REPORT_DELAY_MS = 200;
