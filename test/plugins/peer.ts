export type { MutePeer, OpenMutePeer, PeerNeeds } from "../../src/plugin-api/index.ts";
