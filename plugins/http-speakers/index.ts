import { type DeliveryItem, definePlugin, namedSecrets } from "#plugin-api";
import { algoDriver } from "./algo.ts";
import config from "./config.ts";
import { createDeliveries } from "./deliveries.ts";
import { type Driver, Refusal } from "./driver.ts";
import { templatedDriver } from "./templated.ts";
import { readTemplates } from "./templates.ts";
import { openVolumes } from "./volumes.ts";

const SWEEP_MS = 30_000;

/** Speakers, signs and lamps that are told by HTTP requests what to do. */
export default definePlugin({
  config,
  async activate(ctx) {
    const { clock, fetch, outcome, stream, log } = ctx;
    const secrets = namedSecrets(ctx.config.secrets);
    const { templates, faults } = readTemplates(ctx.config.templates, new Set(secrets.keys()));
    const driverOf = (device: DeliveryItem["device"]): Driver => {
      if (!device.deviceIdentifier.startsWith("algo:")) return templatedDriver(device, { fetch, templates, secrets });
      const password = secrets.get(device.deviceIdentifier) ?? secrets.get("algo");
      if (password === undefined) throw new Refusal("its password is not among the secrets", false);
      return algoDriver(device, { clock, fetch, password });
    };
    const volumes = await openVolumes(ctx.state);
    const deliveries = createDeliveries({ clock, outcome, stream, log, driverOf, volumes });
    ctx.deliver((batch) => deliveries.take(batch));
    ctx.stop((request) => deliveries.stop(request));
    ctx.probe((device) =>
      Promise.resolve()
        .then(() => driverOf(device).probe())
        .catch((error: Error) => ({ proof: null, reason: error.message })),
    );
    const restoreAll = (): void => void volumes.restoreAll(driverOf, deliveries.isBusy);
    ctx.every(SWEEP_MS, () => {
      deliveries.sweep();
      restoreAll();
    });
    restoreAll();
    if (faults.length > 0) ctx.status("degraded", faults.join("; "));
    else ctx.status("ok");
  },
});
