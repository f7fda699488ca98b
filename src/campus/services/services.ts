import { notFound } from "../../base/errors.ts";
import { openAndroidService } from "./android-service.ts";
import { openAppleService } from "./apple-service.ts";
import { openChatServer } from "./chat-server.ts";
import { openDesktop } from "./desktop.ts";
import { openFeedReader } from "./feed-reader.ts";
import { openHttpHorn } from "./http-horn.ts";
import { openMailServer } from "./mail-server.ts";
import { openMessageCentre } from "./message-centre.ts";
import { openPushService } from "./push-service.ts";
import type { Reception, Service, ServiceNeeds } from "./service.ts";
import { openSipDevice } from "./sip-device.ts";

/** The far ends of all channels beside phones and zones. */
export interface Services {
  /** What an appliance must know of each, by service. */
  facts(): Record<string, Record<string, string>>;
  receptions(): Reception[];
  /** Passes on to a service what it can only be told once the appliance is set up. */
  tell(service: string, values: Record<string, unknown>): void;
  stop(): Promise<void>;
}

/** Opens all of them; rejects, with everything closed again, when one can't be opened. */
export async function openServices(needs: ServiceNeeds): Promise<Services> {
  const all: Record<string, Service> = { feed: openFeedReader(needs), desktop: openDesktop(needs) };
  const stop = async (): Promise<void> => void (await Promise.all(Object.values(all).map((service) => service.stop())));
  try {
    all.mail = await openMailServer(needs);
    all.sms = await openMessageCentre(needs);
    all.chat = await openChatServer(needs);
    all.sip = await openSipDevice(needs, { service: "sip", user: "gym", key: null });
    all.telephone = await openSipDevice(needs, { service: "telephone", user: "trunk", key: "1" });
    all.horn = await openHttpHorn(needs);
    all.push = await openPushService(needs);
    all.android = await openAndroidService(needs);
    all.apple = await openAppleService(needs);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    facts: () => Object.fromEntries(Object.entries(all).map(([name, { facts }]) => [name, facts])),
    receptions: () => Object.values(all).flatMap((service) => service.receptions()),
    tell(service, values) {
      const told = all[service]?.tell;
      if (!told) throw notFound();
      told(values);
    },
    stop,
  };
}
