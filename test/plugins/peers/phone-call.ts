import type { OpenMutePeer } from "../peer.ts";
import { openSipPeerWithoutReports } from "../sip-without-reports.ts";

/** A telephone behind a trunk that takes every call and even sends sound of its own, but nobody presses a key. */
const openMutePeer: OpenMutePeer = async () => {
  const { port, asked, close } = await openSipPeerWithoutReports();
  return {
    config: { trunk: `sip:127.0.0.1:${port}`, port: 0, address: "127.0.0.1" },
    device: { id: "0198f3a0-0000-7000-8000-00000000f007", deviceIdentifier: "+4930123456", attributes: {} },
    proves: "accepted",
    asked,
    close,
  };
};

export default openMutePeer;
