import { type DeliveryItem, definePlugin, parseNamedSecrets } from "#plugin-api";
import { createAlgoDriver } from "./algo-driver.ts";
import config from "./config.ts";
import { createHttpSpeakerDeliveries } from "./deliveries.ts";
import { sentence } from "./sentences.ts";
import { DeviceError, type SpeakerDriver } from "./speaker-driver.ts";
import { createTemplateDriver } from "./template-driver.ts";
import { parseTemplates } from "./templates.ts";
import { openVolumeRestoration } from "./volume-restoration.ts";

const SWEEP_MS = 30_000;

/** Speakers, signs and lamps controlled by HTTP requests. */
export default definePlugin({
  config,
  async activate(ctx) {
    const { clock, fetch, outcome, stream, log } = ctx;
    const secrets = parseNamedSecrets(ctx.config.secrets);
    const { templates, errors } = parseTemplates(ctx.config.templates, new Set(secrets.keys()));
    const driverOf = (device: DeliveryItem["device"]): SpeakerDriver => {
      if (!device.deviceIdentifier.startsWith("algo:"))
        return createTemplateDriver(device, { fetch, templates, secrets });
      const password = secrets.get(device.deviceIdentifier) ?? secrets.get("algo");
      if (password === undefined) throw new DeviceError(sentence("password-missing"), false);
      return createAlgoDriver(device, { clock, fetch, password });
    };
    const volumes = await openVolumeRestoration(ctx.state);
    const deliveries = createHttpSpeakerDeliveries({ clock, outcome, stream, log, driverOf, volumes });
    ctx.deliver((batch) => deliveries.start(batch));
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
    if (errors.length > 0) ctx.status("degraded", errors.join("; "));
    else ctx.status("ok");
  },
});
