import { notFound } from "../../../lib/errors.ts";
import { openAlgoHorn } from "./algo-horn.ts";
import { openApnsServer } from "./apns-server.ts";
import { openChatServer } from "./chat-server.ts";
import { openDesktopClient } from "./desktop-client.ts";
import { openFcmServer } from "./fcm-server.ts";
import { openFeedReader } from "./feed-reader.ts";
import type { ReceivedMessage, SimulatedService, SimulatedServiceDeps } from "./service.ts";
import { openSipDevice } from "./sip-device.ts";
import { openSmppServer } from "./smpp-server.ts";
import { openSmtpServer } from "./smtp-server.ts";
import { openWebPushServer } from "./web-push-server.ts";

/** The simulated services of all channels except phones and zones. */
export interface SimulatedServices {
  /** Connection settings of each service. */
  connectionSettings(): Record<string, Record<string, string>>;
  receptions(): ReceivedMessage[];
  /** Passes settings to a service that are known only once the appliance runs. */
  configure(service: string, values: Record<string, unknown>): void;
  stop(): Promise<void>;
}

/** Opens all services; rejects, after closing everything again, if one can't be opened. */
export async function openSimulatedServices(deps: SimulatedServiceDeps): Promise<SimulatedServices> {
  const all: Record<string, SimulatedService> = { feed: openFeedReader(deps), desktop: openDesktopClient(deps) };
  const stop = async (): Promise<void> => void (await Promise.all(Object.values(all).map((service) => service.stop())));
  try {
    all.mail = await openSmtpServer(deps);
    all.sms = await openSmppServer(deps);
    all.chat = await openChatServer(deps);
    all.sip = await openSipDevice(deps, { service: "sip", user: "gym", key: null });
    all.telephone = await openSipDevice(deps, { service: "telephone", user: "trunk", key: "1" });
    all.horn = await openAlgoHorn(deps);
    all.push = await openWebPushServer(deps);
    all.android = await openFcmServer(deps);
    all.apple = await openApnsServer(deps);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    connectionSettings: () =>
      Object.fromEntries(Object.entries(all).map(([name, { connectionSettings }]) => [name, connectionSettings])),
    receptions: () => Object.values(all).flatMap((service) => service.receptions()),
    configure(service, values) {
      const configure = all[service]?.configure;
      if (!configure) throw notFound();
      configure(values);
    },
    stop,
  };
}
