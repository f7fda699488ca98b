import { openMuteSip } from "../mute-sip.ts";
import type { OpenMutePeer } from "../peer.ts";

/** A telephone behind a trunk that takes every call and even sends sound of its own, but nobody presses a key. */
const openMutePeer: OpenMutePeer = async () => {
  const { port, asked, close } = await openMuteSip();
  return {
    config: { trunk: `sip:127.0.0.1:${port}`, port: 0, address: "127.0.0.1" },
    device: { id: "0198f3a0-0000-7000-8000-00000000f007", deviceIdentifier: "+4930123456", attributes: {} },
    proves: "accepted",
    asked,
    close,
  };
};

export default openMutePeer;
