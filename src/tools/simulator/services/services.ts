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

/** The far ends of all channels beside phones and zones. */
export interface SimulatedServices {
  /** What an appliance must know of each, by service. */
  connectionSettings(): Record<string, Record<string, string>>;
  receptions(): ReceivedMessage[];
  /** Passes on to a service what it can only be told once the appliance is set up. */
  configure(service: string, values: Record<string, unknown>): void;
  stop(): Promise<void>;
}

/** Opens all of them; rejects, with everything closed again, when one can't be opened. */
export async function openSimulatedServices(needs: SimulatedServiceDeps): Promise<SimulatedServices> {
  const all: Record<string, SimulatedService> = { feed: openFeedReader(needs), desktop: openDesktopClient(needs) };
  const stop = async (): Promise<void> => void (await Promise.all(Object.values(all).map((service) => service.stop())));
  try {
    all.mail = await openSmtpServer(needs);
    all.sms = await openSmppServer(needs);
    all.chat = await openChatServer(needs);
    all.sip = await openSipDevice(needs, { service: "sip", user: "gym", key: null });
    all.telephone = await openSipDevice(needs, { service: "telephone", user: "trunk", key: "1" });
    all.horn = await openAlgoHorn(needs);
    all.push = await openWebPushServer(needs);
    all.android = await openFcmServer(needs);
    all.apple = await openApnsServer(needs);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    connectionSettings: () =>
      Object.fromEntries(Object.entries(all).map(([name, { connectionSettings }]) => [name, connectionSettings])),
    receptions: () => Object.values(all).flatMap((service) => service.receptions()),
    configure(service, values) {
      const told = all[service]?.configure;
      if (!told) throw notFound();
      told(values);
    },
    stop,
  };
}
