import { openTestFcmServer } from "../fcm-server.ts";
import type { OpenMutePeer } from "../peer.ts";

/** A push service that takes everything: nobody sees it, and there is nothing to ask. */
const openMutePeer: OpenMutePeer = async () => {
  const { address, serviceAccount, close } = await openTestFcmServer();
  return {
    config: { address, serviceAccount },
    device: {
      id: "0198f3a0-0000-7000-8000-00000000f008",
      deviceIdentifier: "mute-registration-token:APA91b",
      attributes: { Type: "Android" },
    },
    proves: "accepted",
    asked: async () => {},
    close,
  };
};

export default openMutePeer;
