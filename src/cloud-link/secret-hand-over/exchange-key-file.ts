import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { replaceFile } from "../../lib/durable-file.ts";
import { copyOwner } from "../../lib/file-ownership.ts";
import { type ExchangeKeys, generateExchangeKeys, publicExchangeKey } from "./sealed-secret.ts";

/**
 * The exchange keys of this appliance for its present link; created when they are first needed. The private key never leaves
 * the appliance. A file of another link, or one that cannot be read, is replaced: the cloud then asks for consent again.
 */
export function loadExchangeKeys(dataDir: string, hub: string, endpoint: string): ExchangeKeys {
  const path = join(dataDir, "link", "exchange-key.json");
  const known = existsSync(path) ? readKeyFile(path) : null;
  if (known?.hub === hub && known.endpoint === endpoint)
    return { privateKey: known.privateKey, publicKey: publicExchangeKey(known.privateKey) };
  const keys = generateExchangeKeys();
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  replaceFile(path, JSON.stringify({ hub, endpoint, privateKey: keys.privateKey }));
  copyOwner(dirname(path), dataDir);
  return keys;
}

function readKeyFile(path: string): { hub: string; endpoint: string; privateKey: string } | null {
  try {
    const kept = JSON.parse(readFileSync(path, "utf8")) as { hub: string; endpoint: string; privateKey: string };
    publicExchangeKey(kept.privateKey);
    return kept;
  } catch {
    return null;
  }
}
