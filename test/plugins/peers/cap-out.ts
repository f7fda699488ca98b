import type { OpenMutePeer } from "../peer.ts";

/** A feed gives no receipt: all its readers are mute, and there is nothing to ask. */
const openMutePeer: OpenMutePeer = async () => ({
  config: { sender: "alerts@school.example.org", access: "public" },
  device: {
    id: "0198f3a0-0000-7000-8000-00000000f006",
    deviceIdentifier: "Town",
    attributes: {},
  },
  proves: "sent",
  asked: async () => {},
  close: async () => {},
});

export default openMutePeer;
