import type { OpenMutePeer } from "../peer.ts";
import { makeBrowser, openTestWebPushServer } from "../web-push-server.ts";

/** A push service that takes everything for a browser that is off: nothing is ever shown. */
const openMutePeer: OpenMutePeer = async () => {
  const browser = makeBrowser("/push/mute");
  const service = await openTestWebPushServer([browser]);
  return {
    config: { contact: "mailto:it@example.org" },
    device: {
      id: "0198f3a0-0000-7000-8000-00000000f006",
      deviceIdentifier: service.url(browser.path),
      attributes: { Type: "web-push", ClientIdentifier: browser.clientIdentifier },
    },
    proves: "accepted",
    asked: async () => {},
    close: service.close,
  };
};

export default openMutePeer;
