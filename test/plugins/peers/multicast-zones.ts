import type { OpenMutePeer } from "../peer.ts";

/** A zone: multicast gives no receipt, so every zone is mute and there is nothing to ask. */
const openMutePeer: OpenMutePeer = async () => ({
  config: { zones: [] },
  device: {
    id: "0198f3a0-0000-7000-8000-00000000f002",
    deviceIdentifier: "zone:Mute",
    attributes: { Group: "239.255.77.2", Port: "20480", Codec: "PCMU", TTL: "1" },
  },
  proves: "sent",
  asked: async () => {},
  close: async () => {},
});

export default openMutePeer;
