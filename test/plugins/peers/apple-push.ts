import { openTestApnsServer } from "../apns-server.ts";
import type { OpenMutePeer } from "../peer.ts";

/** A push service that takes everything: nobody sees it, and there is nothing to ask. */
const openMutePeer: OpenMutePeer = async () => {
  const { config, close } = await openTestApnsServer();
  return {
    config,
    device: {
      id: "0198f3a0-0000-7000-8000-00000000f009",
      deviceIdentifier: "00ff".repeat(16),
      attributes: { Type: "apns" },
    },
    proves: "accepted",
    asked: async () => {},
    close,
  };
};

export default openMutePeer;
