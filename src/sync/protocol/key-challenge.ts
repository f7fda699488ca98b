/** What an appliance signs to prove its key: nothing that means anything elsewhere. */
export function buildChallenge(endpoint: string, nonce: string): string {
  return `carillon link\n${endpoint}\n${nonce}`;
}
