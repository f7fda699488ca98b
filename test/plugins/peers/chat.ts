import { openTestChatServer } from "../chat-server.ts";
import type { OpenMutePeer } from "../peer.ts";

/** A chat service that takes everything: nobody reads it, and there is nothing to ask. */
const openMutePeer: OpenMutePeer = async () => {
  const service = await openTestChatServer();
  return {
    config: { webhooks: `Front office=${service.url("/hook/a-mute-channel's-secret")}` },
    device: {
      id: "0198f3a0-0000-7000-8000-00000000f005",
      deviceIdentifier: "Front office",
      attributes: {},
    },
    proves: "accepted",
    asked: async () => {},
    close: service.close,
  };
};

export default openMutePeer;
