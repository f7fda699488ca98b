export type { MutePeer, OpenMutePeer, PeerDeps } from "../../src/plugin-api/index.ts";
