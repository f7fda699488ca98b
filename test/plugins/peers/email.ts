import { openTestMailServer } from "../mail-server.ts";
import type { OpenMutePeer } from "../peer.ts";

/** A mail server that takes everything: nobody reads it, and there is nothing to ask. */
const openMutePeer: OpenMutePeer = async () => {
  const { port, close } = await openTestMailServer();
  return {
    config: { host: "127.0.0.1", port, security: "none", from: "bells@example.org" },
    device: {
      id: "0198f3a0-0000-7000-8000-00000000f003",
      deviceIdentifier: "mute@example.org",
      attributes: {},
    },
    proves: "accepted",
    asked: async () => {},
    close,
  };
};

export default openMutePeer;
