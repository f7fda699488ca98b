import type { OpenMutePeer } from "../peer.ts";
import { openTestSmppServer } from "../smpp-server.ts";

/** A provider that takes everything; no handset ever says that it has it. */
const openMutePeer: OpenMutePeer = async () => {
  const { port, close } = await openTestSmppServer();
  return {
    config: { transport: "smpp", host: "127.0.0.1", port, systemId: "school", password: "a mute provider's secret" },
    device: {
      id: "0198f3a0-0000-7000-8000-00000000f004",
      deviceIdentifier: "+4917012345",
      attributes: {},
    },
    proves: "sent",
    asked: async () => {},
    close,
  };
};

export default openMutePeer;
