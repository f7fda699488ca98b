import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { PluginContext } from "#plugin-api";

/** An agent that has registered. */
export interface KnownAgent {
  model: string;
  version: string;
  /** It reports whether it hears itself. */
  selfTest: boolean;
}

/** Agents that have a token, kept for good; of tokens their hash alone. */
export interface Tokens {
  /** Null for one that has none. */
  agentOf(mac: string): KnownAgent | null;
  /** Gives a new token, the only time that anybody sees it; the one before holds no more. Rejects when it can't be kept. */
  issue(mac: string, agent: KnownAgent): Promise<string>;
  /** The agent whose token this is; null for a wrong one. */
  check(mac: string, token: string): KnownAgent | null;
  readonly size: number;
}

interface Kept extends KnownAgent {
  hash: string;
}

type Shard = Record<string, Kept>;

const DIGITS = [..."0123456789ABCDEF"];

/** Reads the tokens that were given. Sixteen values hold them, by the last digit of the address: one would grow too large. */
export async function openTokens(state: PluginContext["state"]): Promise<Tokens> {
  const shards = new Map<string, Shard>();
  for (const digit of DIGITS) shards.set(digit, ((await state.get(keyOf(digit))) as Shard | undefined) ?? {});
  const shardOf = (mac: string): Shard => shards.get(mac.slice(-1)) ?? {};
  const known = (mac: string): Kept | null => {
    const shard = shardOf(mac);
    return Object.hasOwn(shard, mac) ? (shard[mac] ?? null) : null;
  };
  return {
    agentOf: (mac) => known(mac),
    async issue(mac, agent) {
      const token = randomBytes(24).toString("base64url");
      const shard = { ...shardOf(mac), [mac]: { ...agent, hash: hashOf(token) } };
      await state.set(keyOf(mac.slice(-1)), shard);
      shards.set(mac.slice(-1), { ...shardOf(mac), [mac]: shard[mac] as Kept });
      return token;
    },
    check(mac, token) {
      const kept = known(mac);
      // Unknown ones take as long as wrong ones.
      const right = timingSafeEqual(Buffer.from(kept?.hash ?? hashOf("")), Buffer.from(hashOf(token)));
      if (!kept || !right) return null;
      const { model, version, selfTest } = kept;
      return { model, version, selfTest };
    },
    get size() {
      return [...shards.values()].reduce((sum, shard) => sum + Object.keys(shard).length, 0);
    },
  };
}

function keyOf(digit: string): string {
  return `agents/${digit}`;
}

function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("base64url");
}
