import type { OpenMutePeer } from "../peer.ts";
import { openSipPeerWithoutReports } from "../sip-without-reports.ts";

/** A speaker that takes every call and even sends sound of its own, but reports on none that it gets. */
const openMutePeer: OpenMutePeer = async () => {
  const { port, asked, close } = await openSipPeerWithoutReports();
  return {
    config: { port: 0, address: "127.0.0.1" },
    device: {
      id: "0198f3a0-0000-7000-8000-00000000f005",
      deviceIdentifier: "sip:mute",
      attributes: { SipUri: `sip:mute@127.0.0.1:${port}` },
    },
    proves: "accepted",
    asked,
    close,
  };
};

export default openMutePeer;
