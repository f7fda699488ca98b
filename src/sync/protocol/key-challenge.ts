/** The text that an appliance signs to prove its key; the prefix makes it useless in any other protocol. */
export function buildChallenge(endpoint: string, nonce: string): string {
  return `carillon link\n${endpoint}\n${nonce}`;
}
