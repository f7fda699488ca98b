import { createHash, randomBytes } from "node:crypto";
import type { OpenMutePeer } from "../peer.ts";

/** Longest wait between two questions. */
const AGAIN_MS = 20;

/** A desktop that asks what to show and never says that it has shown it. */
const openMutePeer: OpenMutePeer = async ({ route }) => {
  const token = randomBytes(32).toString("base64url");
  let isClosed = false;
  const follow = async (): Promise<void> => {
    while (!isClosed) {
      const body = Buffer.from(JSON.stringify({ token, version: "" }));
      const request = { method: "POST", url: "/screen", headers: {}, body, remoteAddress: "127.0.0.1" };
      // Refused while the plugin is started and when it has ended.
      await route?.(request)?.catch(() => null);
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  };
  void follow();
  return {
    config: {},
    device: {
      id: "0198f3a0-0000-7000-8000-00000000f007",
      deviceIdentifier: createHash("sha256").update(token).digest("hex"),
      attributes: { Type: "desktop" },
    },
    proves: "sent",
    asked: async () => {},
    async close() {
      isClosed = true;
    },
  };
};

export default openMutePeer;
