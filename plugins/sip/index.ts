import { randomBytes } from "node:crypto";
import { type ConfigOf, type DeviceReport, definePlugin, type PluginContext } from "#plugin-api";
import { type Account, readAccounts } from "./accounts.ts";
import { openAgent } from "./agent/agent.ts";
import type { Credentials } from "./agent/digest.ts";
import config from "./config.ts";
import { createMediaPorts } from "./media/media-port.ts";
import { createPace } from "./pace.ts";
import { createPages } from "./paging/pages.ts";
import { probeDevice } from "./paging/probe.ts";
import { createRegistrar, type Registrar } from "./registrar.ts";

type Context = PluginContext<ConfigOf<typeof config>>;

const SWEEP_MS = 60_000;

/** SIP phones and speakers that answer by themselves. */
export default definePlugin({
  config,
  async activate(ctx) {
    const { clock, log, outcome, stream } = ctx;
    const { accounts, faults } = readAccounts(ctx.config.accounts);
    const registrar = registrarFor(ctx, accounts);
    const agent = await openAgent({
      clock,
      port: ctx.config.port,
      tls: tlsOf(ctx.config),
      authority: ctx.config.certificateAuthority,
      address: ctx.config.address,
      onRegister: registrar.take,
      onError: (error) => log.error({ err: error.message }, "a socket failed"),
    });
    const ports = createMediaPorts({ first: ctx.config.firstMediaPort, last: ctx.config.lastMediaPort });
    const directory = { registrar, accounts, credentials: credentialsOf(ctx.config.user, ctx.config.password) };
    const pace = createPace(clock, ctx.config.callsPerSecond);
    const pages = createPages({
      clock,
      agent,
      ports,
      pace,
      directory,
      callerName: ctx.config.callerName,
      srtp: ctx.config.srtp,
      outcome,
      stream,
    });
    ctx.signal.addEventListener("abort", () => void pages.close().finally(() => agent.close()), { once: true });
    ctx.signal.addEventListener("abort", registrar.stop, { once: true });
    ctx.deliver((batch) => pages.take(batch));
    ctx.stop((request) => pages.stop(request));
    ctx.probe((device) => probeDevice(device, { agent, directory }));
    ctx.every(SWEEP_MS, () => pages.sweep());
    log.info({ ports: agent.ports }, "listening");
    if (faults.length > 0) ctx.status("degraded", faults.join("; "));
    else ctx.status("ok");
  },
});

function tlsOf({ tlsPort: port, tlsCertificate: certificate, tlsKey: key }: Context["config"]) {
  return certificate && key ? { port, certificate, key } : null;
}

function credentialsOf(user: string | null, password: string | null): Credentials | null {
  return user ? { user, password: password ?? "" } : null;
}

/** Registered devices become devices of the appliance; what is known of them otherwise stays. */
function registrarFor(ctx: Context, accounts: ReadonlyMap<string, Account>): Registrar {
  const changed = new Map<string, DeviceReport>();
  const report = (): void => {
    const devices = [...changed.values()];
    changed.clear();
    ctx.devices.report(devices).catch((error: Error) => ctx.log.warn({ err: error.message }, "devices not stored"));
  };
  const { digest } = ctx.config;
  return createRegistrar({
    clock: ctx.clock,
    realm: ctx.config.realm,
    key: randomBytes(32),
    algorithms: digest === "both" ? ["SHA-256", "MD5"] : [digest],
    accounts,
    onChange({ user, type }, contact) {
      if (changed.size === 0) ctx.clock.after(REPORT_MS, report);
      const deviceIdentifier = `sip:${user}`;
      const attributes =
        contact === null ? { IsRegistered: "false" } : { IsRegistered: "true", RegisteredContact: contact };
      changed.set(user, { deviceIdentifier, type, description: "", attributes });
    },
  });
}

/** Thousands of devices come at once after a power cut. */
const REPORT_MS = 200;
