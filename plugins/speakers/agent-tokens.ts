import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { PluginContext } from "#plugin-api";

/** A registered agent. */
export interface RegisteredAgent {
  model: string;
  version: string;
  /** It has a microphone and reports whether it hears its own playback. */
  selfTest: boolean;
  /** It plays encrypted streams, and of zones only announced ones. */
  srtp: boolean;
}

/** Registered agents, stored permanently with hashed tokens. */
export interface AgentTokens {
  /** Null if not registered. */
  find(mac: string): RegisteredAgent | null;
  /** Issues a new token, which is returned only here, and revokes the previous one. Rejects if it cannot be stored. */
  issue(mac: string, agent: RegisteredAgent): Promise<string>;
  /** Stores what an agent supports since its program was replaced. */
  setSrtp(mac: string, srtp: boolean): Promise<void>;
  /** The agent with this token; null if the token is wrong. */
  verify(mac: string, token: string): RegisteredAgent | null;
  readonly size: number;
}

/** Agents that registered with an earlier version have no `srtp`. */
interface StoredAgent extends Omit<RegisteredAgent, "srtp">, Partial<Pick<RegisteredAgent, "srtp">> {
  hash: string;
}

type Shard = Record<string, StoredAgent>;

const DIGITS = [..."0123456789ABCDEF"];

/**
 * Opens the stored tokens. They are sharded into sixteen values by the last digit of the MAC address, because of the
 * size limit of values.
 */
export async function openAgentTokens(state: PluginContext["state"]): Promise<AgentTokens> {
  const shards = new Map<string, Shard>();
  for (const digit of DIGITS) shards.set(digit, ((await state.get(stateKey(digit))) as Shard | undefined) ?? {});
  const shardOf = (mac: string): Shard => shards.get(mac.slice(-1)) ?? {};
  const known = (mac: string): StoredAgent | null => {
    const shard = shardOf(mac);
    return Object.hasOwn(shard, mac) ? (shard[mac] ?? null) : null;
  };
  const store = async (mac: string, agent: StoredAgent): Promise<void> => {
    await state.set(stateKey(mac.slice(-1)), { ...shardOf(mac), [mac]: agent });
    shards.set(mac.slice(-1), { ...shardOf(mac), [mac]: agent });
  };
  return {
    find(mac) {
      const stored = known(mac);
      return stored && publicPart(stored);
    },
    async issue(mac, agent) {
      const token = randomBytes(24).toString("base64url");
      await store(mac, { ...agent, hash: tokenHash(token) });
      return token;
    },
    async setSrtp(mac, srtp) {
      const stored = known(mac);
      if (stored && (stored.srtp ?? false) !== srtp) await store(mac, { ...stored, srtp });
    },
    verify(mac, token) {
      const stored = known(mac);
      // Same timing for unknown agents and wrong tokens.
      const isMatch = timingSafeEqual(Buffer.from(stored?.hash ?? tokenHash("")), Buffer.from(tokenHash(token)));
      return stored && isMatch ? publicPart(stored) : null;
    },
    get size() {
      return [...shards.values()].reduce((sum, shard) => sum + Object.keys(shard).length, 0);
    },
  };
}

function publicPart({ model, version, selfTest, srtp = false }: StoredAgent): RegisteredAgent {
  return { model, version, selfTest, srtp };
}

function stateKey(digit: string): string {
  return `agents/${digit}`;
}

function tokenHash(token: string): string {
  return createHash("sha256").update(token).digest("base64url");
}
